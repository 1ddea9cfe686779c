// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "base/bind.hpp"
#include "base/dpctl_programs.hpp"

namespace sycl_dnn {

// Programs for a queue's OpenCL device; these throw if the driver refuses. Call without the GIL.
// Kernels of several SPIR-V modules must have different names.
program_bundle program_of_spirv(const sycl::queue &queue, const std::vector<std::string> &modules);
program_bundle program_of_source(const sycl::queue &queue, const std::string &source,
                                 const std::string &options);
program_bundle program_of_bytes(const sycl::queue &queue, const std::string &binary);
// The driver's binary for a device; empty if there is none.
std::string bytes_of(const program_bundle &bundle, const sycl::device &device);
sycl::kernel kernel_in(const program_bundle &bundle, const std::string &name);
// Whether groups of a size can be launched: they may need too many registers, or the module has
// another size.
bool has_groups_of(const sycl::kernel &kernel, size_t local);

// The driver's binary of a SyclProgram for a queue's device; empty if there is none.
py::bytes program_binary(const py::object &program, const py::object &queue);
// The SyclProgram of such bytes; None if the driver does not accept them.
py::object program_of_binary(const py::object &queue, const py::bytes &binary);

}  // namespace sycl_dnn
