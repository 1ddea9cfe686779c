// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/engine.hpp"
#include "primitives/attributes.hpp"

namespace sycl_dnn {

// A primitive descriptor of any kind, with its arguments.
struct PrimitiveDesc {
    dnnl::primitive_desc_base handle;
    const char *name;       // the row: "convolution_forward"
    const char *signature;  // its execution arguments: "src weights bias -> dst"
    Engine engine;
    Engine dst_engine;  // differs only in reorders between engines
    std::shared_ptr<const PrimitiveAttr> attr;
    py::dict parameters;  // keyword arguments of the row

    // The layout of an execution argument; the zero descriptor if the primitive does not use it.
    desc argument_desc(int id) const;
    // A handle that is not affected by next_impl() in other threads. Call with the GIL.
    dnnl::primitive_desc_base snapshot() const;
};

// Advances to the next implementation that the fault register does not skip; false if there is
// none. Takes the Python object, which is passed to the register's rules.
bool next_impl(const py::object &pd);

}  // namespace sycl_dnn
