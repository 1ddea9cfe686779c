// SPDX-License-Identifier: Apache-2.0
// Shared by every source file: names for oneDNN's types and the list of binders.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace sycl_dnn {

namespace py = pybind11;
using dnnl::memory;
using desc = dnnl::memory::desc;
using dims = dnnl::memory::dims;

// Python objects that a submission uses. Destroy with the GIL held and without any of our mutexes:
// destruction may run Python code.
using owner_list = std::vector<py::object>;

// Becomes sycl_dnn.errors.InvalidArguments (a ValueError) in Python.
struct invalid_arguments : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// Becomes sycl_dnn.errors.Unimplemented (a NotImplementedError) in Python.
struct unimplemented : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void bind_errors(py::module_ &m);
void bind_enums(py::module_ &m);
void bind_arguments(py::module_ &m);
void bind_engine(py::module_ &m);
void bind_stream(py::module_ &m);
void bind_memory_desc(py::module_ &m);
void bind_memory(py::module_ &m);
void bind_blas(py::module_ &m);
void bind_post_ops(py::module_ &m);
void bind_attributes(py::module_ &m);
void bind_primitive_desc(py::module_ &m);
void bind_primitive(py::module_ &m);
void bind_copy_primitives(py::module_ &m);
void bind_primitives(py::module_ &m);
void bind_normalization_primitives(py::module_ &m);
void bind_window_primitives(py::module_ &m);
void bind_rnn_primitives(py::module_ &m);
void bind_program(py::module_ &m);
void bind_calls(py::module_ &m);
void bind_collectives(py::module_ &m);
void bind_profile(py::module_ &m);
void bind_settings(py::module_ &m);
void bind_graph_logical(py::module_ &m);
void bind_graph_op(py::module_ &m);
void bind_graph_tensor(py::module_ &m);
void bind_graph_partition(py::module_ &m);
void bind_graph(py::module_ &m);
void bind_graph_compiled(py::module_ &m);
void bind_graph_settings(py::module_ &m);
void explain_wrong_calls(py::module_ &m);

}  // namespace sycl_dnn
