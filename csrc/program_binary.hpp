// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "bind.hpp"

namespace sycl_dnn {

using program_bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

// The contents of a dpctl.program.SyclProgram, and one with given contents (dpctl_api.cpp).
program_bundle bundle_of(py::handle object);
py::object make_sycl_program(const program_bundle &bundle);

// The driver's binary of a SyclProgram for a queue's device; empty if there is none.
py::bytes program_binary(const py::object &program, const py::object &queue);
// The SyclProgram of such bytes; None if the driver does not accept them.
py::object program_of_binary(const py::object &queue, const py::bytes &binary);

}  // namespace sycl_dnn
