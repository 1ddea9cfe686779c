// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>

#include "base/bind.hpp"

namespace sycl_dnn {

// A program of SPIR-V kernels for an OpenCL device that another thread builds while the caller goes
// on. One thread for all: Intel's CPU driver holds one mutex of the process while it builds.
class ProgramBuild {
  public:
    // `binary` is what the driver made of the same module before, or empty; `keep` is called with
    // what it makes of it.
    ProgramBuild(const sycl::queue &queue, std::string module, std::string binary, py::object keep);

    // Lets the thread begin, unless it was told before. Call with the GIL.
    void start();

    // Starts and waits; nothing if the driver refuses the module. Call with the GIL.
    std::optional<sycl::kernel> kernel(const std::string &name);

    // At exit, without the GIL: drops what was not begun, and waits for the rest.
    static void finish();

    struct Work;

  private:
    std::shared_ptr<Work> work;
    py::object keep;
    std::atomic<bool> started{false};
};

}  // namespace sycl_dnn
