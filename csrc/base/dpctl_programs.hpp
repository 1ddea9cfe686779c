// SPDX-License-Identifier: Apache-2.0
// dpctl's kernels and programs as SYCL's. Separate from dpctl_api.hpp, which does not include
// SYCL's headers.
#pragma once

#include <sycl/sycl.hpp>

#include "base/bind.hpp"

namespace sycl_dnn {

using program_bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

// The kernel of a dpctl.program.SyclKernel, which may be dropped afterwards.
sycl::kernel kernel_of(py::handle object);
// The contents of a dpctl.program.SyclProgram, and one with given contents.
program_bundle bundle_of(py::handle object);
py::object make_sycl_program(const program_bundle &bundle);

}  // namespace sycl_dnn
