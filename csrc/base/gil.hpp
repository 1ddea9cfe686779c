// SPDX-License-Identifier: Apache-2.0
// The GIL, released and acquired by threads that may outlive the interpreter.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

namespace sycl_dnn {

// Sleeps until the process ends.
[[noreturn]] void park();

// Runs `call`, which may acquire the GIL. After the interpreter's end Python ends a daemon thread
// that does so by pthread_exit. Its unwinding must not pass through C++, where destructors would
// touch Python objects and `noexcept` means abort. So the thread stays where it is.
template <class Call>
auto or_park(const Call &call) {
    try {
        return call();
    } catch (const abi::__forced_unwind &) {
        park();
    }
}

// Releases the GIL for its lifetime; replaces pybind11's class, which aborts the process in a
// daemon thread at exit.
class ReleasedGil {
  public:
    ReleasedGil();
    ~ReleasedGil();
    ReleasedGil(const ReleasedGil &) = delete;

    // Waits, up to a time limit, until no thread is inside, where it may use a device.
    static void wait_for_all();
    // The number of threads inside.
    static int count();

  private:
    PyThreadState *state;
};

}  // namespace sycl_dnn
