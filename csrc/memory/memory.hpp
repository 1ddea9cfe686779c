// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

// oneDNN's memory object and its owners. A new address means a new oneDNN object: one that
// is in flight does not change.
struct Memory {
    dnnl::memory handle;
    desc layout;
    dnnl_engine_t engine;      // null for a host scalar
    py::object engine_object;  // the Engine, or None
    py::object owner;          // the array or the dpctl.memory objects, kept alive
    bool writable;
    bool allocated;  // for this tensor alone, so that gaps in its layout belong to nothing else
    // Of the first buffer, to find arguments that share it. Stored: querying the
    // descriptor at every execution would take as long as submitting it.
    void *first;
    size_t nbytes;  // up to the tensor's last element
    bool dense;     // without gaps
};

}  // namespace sycl_dnn
