// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "base/bind.hpp"
#include "program/spirv_interpreter.hpp"

namespace sycl_dnn {

// OpenCL C, or a SPIR-V module of one kernel, for an OpenCL device that another thread builds while
// the caller goes on. One thread for all: Intel's CPU driver holds one mutex of the process while
// it builds. SPIR-V modules that are started together are one build, since each build takes 20 ms
// in any case.
class ProgramBuild : public std::enable_shared_from_this<ProgramBuild> {
  public:
    // `module` is its bytes, or a function that writes them, called when they are needed.
    // `find` is called with this when it is started, and returns a key, and the driver's binary of
    // the module before: bytes, empty if there are none, or another build whose bytes have it, too.
    // `keep` is called with the keys of what was built together, and the bytes made of it.
    // `options` are those of the compiler for OpenCL C; SPIR-V has none.
    ProgramBuild(const sycl::queue &queue, py::object module, py::object find, py::object keep,
                 std::optional<std::string> options);

    struct named {
        std::shared_ptr<ProgramBuild> build;
        std::string kernel;
    };
    // Lets the thread begin with those that it was not told before, at `start` or when somebody
    // waits for them. Call with the GIL.
    static void start_together(const std::vector<named> &builds,
                               std::chrono::steady_clock::time_point start = {});

    // What runs the module in its first run, and while it is compiled in the background; null if
    // there is a binary, or somebody waits for it. Call with the GIL.
    std::shared_ptr<const SpirvInterpreter> first_run();
    void note_run() { has_run = true; }
    // The module's interpreter on a CPU; null if this many elements are left to a launch.
    // Call with the GIL.
    std::shared_ptr<const SpirvInterpreter> brief(size_t n_visited);
    // What replaces a kernel that the driver refuses, if there is anything; once started.
    std::shared_ptr<const SpirvInterpreter> substitute() const;
    // The variable SYCL_DNN_INTERPRET: the driver builds nothing that can be interpreted.
    static bool is_always_interpreted();

    // Starts and waits; nothing if the driver refuses the module. Call with the GIL.
    static std::optional<sycl::kernel> kernel(const named &request);

    struct Work;
    // What the thread builds for a caller who waits later; null if there is nothing to wait for.
    // Call with the GIL.
    std::shared_ptr<Work> begun() const;
    // Waits; nothing if the driver refuses any of its modules. Call without the GIL.
    static std::optional<sycl::kernel> kernel_of(const std::shared_ptr<Work> &from,
                                                 const std::string &name);
    // The same of what has begun, built in the calling thread.
    std::optional<sycl::kernel> kernel_alone(const std::string &name) const;

    // Keeps what has been built so far on disk; also at exit, after `finish`. Call with the GIL.
    static void keep_done();
    // At exit, without the GIL: drops what was not begun, and waits for the rest.
    static void finish();

  private:
    const std::string &module();             // runs Python
    void look();                             // once, for a binary; runs Python
    std::shared_ptr<Work> work_of_binary();  // null if there is none, and it must be compiled

    const sycl::queue queue;
    const py::object source;
    py::object find, keep;
    const std::optional<std::string> options;
    std::string written;      // the module, once it is needed
    std::string key, binary;  // what `find` returned, until it is started
    std::shared_ptr<ProgramBuild> other;
    std::shared_ptr<Work> work;  // what builds it, once started; under the GIL
    std::shared_ptr<const SpirvInterpreter> interpreter;
    bool has_looked = false, has_run = false;
};

}  // namespace sycl_dnn
