// SPDX-License-Identifier: Apache-2.0
// Shared by all rows of primitives, independent of their types.
#pragma once

#include <functional>

#include "primitives/primitive_desc.hpp"

namespace sycl_dnn {

using attr_ptr = std::shared_ptr<PrimitiveAttr>;
using create_function = std::function<dnnl::primitive_desc_base(const dnnl::primitive_attr &)>;

// Splits a string at spaces.
std::vector<std::string> words(const char *text);

// Names and execution arguments of all rows, for tests and documentation: _core.ROWS.
void record(py::module_ &m, const char *name, const char *parameters, const char *signature);

// Runs `create` without the GIL and wraps its result; a refusal becomes an error that includes the
// arguments, or None if `allow_empty`.
py::object describe_or_raise(const char *name, const char *signature, const Engine &engine,
                             const Engine &dst_engine, const py::dict &parameters,
                             const attr_ptr &attr, bool allow_empty, const create_function &create);

// Whether sycl_dnn/onednn/faults.py skips the implementation of this descriptor.
bool is_avoided(const std::string &name, const py::object &pd);

void bind_fault_watch(py::module_ &m);

}  // namespace sycl_dnn
