// SPDX-License-Identifier: Apache-2.0
// Releasing and acquiring the GIL in threads that may outlive the interpreter.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

namespace sycl_dnn {

// Sleeps until the process ends.
[[noreturn]] void park();

// Runs `call`, which may acquire the GIL. After the interpreter has ended, acquiring it ends a
// daemon thread by pthread_exit. Its unwinding must not pass through C++ frames, where destructors
// would access Python objects and `noexcept` means abort, so the thread is parked instead.
template <class Call>
auto or_park(const Call &call) {
    try {
        return call();
    } catch (const abi::__forced_unwind &) {
        park();
    }
}

// Releases the GIL for its lifetime. Unlike pybind11's class, it does not abort the process in a
// daemon thread at exit.
class ReleasedGil {
  public:
    ReleasedGil();
    ~ReleasedGil();
    ReleasedGil(const ReleasedGil &) = delete;

    // Waits, up to a time limit, until no thread is inside, where it may be using a device.
    static void wait_for_all();
    // The number of threads inside.
    static int count();

  private:
    PyThreadState *state;
};

}  // namespace sycl_dnn
