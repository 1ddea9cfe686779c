// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// The driver's binary of a SyclProgram for a queue's device; empty if there is none.
py::bytes program_binary(const py::object &program, const py::object &queue);
// The SyclProgram of such bytes; None if the driver does not accept them.
py::object program_of_binary(const py::object &queue, const py::bytes &binary);

}  // namespace sycl_dnn
