// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// Raises a Python exception object.
[[noreturn]] void raise(const py::object &instance);
// Raises the class that sycl_dnn.errors has for this status.
[[noreturn]] void raise_status(dnnl_status_t status, const std::string &message);
// Throws dnnl::error unless the C call succeeded.
void check(dnnl_status_t status, const char *message);
// Raises the error of a refused primitive descriptor, which can find the reasons later.
[[noreturn]] void raise_creation_error(const dnnl::error &error, const char *name,
                                       const py::dict &arguments, const py::object &engine,
                                       const py::object &attr);

}  // namespace sycl_dnn
