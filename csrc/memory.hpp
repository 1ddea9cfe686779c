// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "memory_desc.hpp"

namespace sycl_dnn {

// oneDNN's memory object and what it stands on. A new address means a new oneDNN object: one that
// is in flight stays as it is.
struct Memory {
    dnnl::memory handle;
    desc layout;
    dnnl_engine_t engine;      // null for a host scalar
    py::object engine_object;  // the Engine, or None
    py::object owner;          // the array or the dpctl.memory objects, kept alive
    bool writable;
    bool allocated;  // for this tensor alone, so that gaps in its layout are nobody else's
    // Of the first buffer, to find arguments that share it. Known from the start: asking the
    // descriptor at every execution would take as long as submitting it.
    void *first;
    size_t nbytes;  // as far as the tensor reaches
    bool dense;     // without gaps
};

}  // namespace sycl_dnn
