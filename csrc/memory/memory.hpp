// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dpctl_api.hpp"
#include "engine/engine.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

// oneDNN's memory object and its owners. A new address means a new oneDNN object: one in use by an
// execution does not change.
struct Memory {
    dnnl::memory handle;
    desc layout;
    dnnl_engine_t engine;      // null for a host scalar
    py::object engine_object;  // the Engine, or None
    py::object owner;          // the array or the dpctl.memory objects, kept alive
    const sycl::queue *queue;  // that the array belongs to; null for other memory
    bool writable;
    bool allocated;  // only for this tensor, so that gaps in its layout are unused
    // Address of the first buffer, to find arguments that share it. Cached: querying the descriptor
    // in every execution would take as long as submitting it.
    void *first;
    size_t nbytes;  // through the tensor's last element
    bool dense;     // without gaps
};

}  // namespace sycl_dnn
