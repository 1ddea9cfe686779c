// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <optional>

namespace sycl_dnn {

// Moves the calling thread away from a processor that a thread of the CPU driver is bound to; where
// the thread may run stays as it was. Call with the GIL, before work for a CPU is submitted.
void leave_bound_processor();

// Binds the calling thread to the one processor that no thread of the CPU driver is bound to, until
// the object is destroyed, in any thread. Without such a processor it does nothing.
class FreeProcessor {
  public:
    FreeProcessor();
    ~FreeProcessor();
    FreeProcessor(const FreeProcessor &) = delete;
    FreeProcessor &operator=(const FreeProcessor &) = delete;

  private:
    std::optional<cpu_set_t> before;  // where the thread may run otherwise
    pid_t thread = 0;
};

}  // namespace sycl_dnn
