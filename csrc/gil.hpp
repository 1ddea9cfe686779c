// SPDX-License-Identifier: Apache-2.0
// The GIL, given away and taken back by threads that may outlive the interpreter.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

namespace sycl_dnn {

// Sleeps until the process is gone.
[[noreturn]] void park();

// Runs `call`, which may take the GIL. Where the interpreter has ended, Python ends a daemon thread
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

// Gives the GIL away for its lifetime; instead of pybind11's class, which aborts the process in a
// daemon thread at exit.
class ReleasedGil {
  public:
    ReleasedGil();
    ~ReleasedGil();
    ReleasedGil(const ReleasedGil &) = delete;

    // Waits until no thread is between the two, which may use a device there; gives up in the end.
    static void wait_for_all();
    // How many threads are between the two.
    static int count();

  private:
    PyThreadState *state;
};

}  // namespace sycl_dnn
