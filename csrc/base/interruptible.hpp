// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace sycl_dnn {

// Runs `job`, which waits and must not need the GIL, without the GIL. Call with the GIL. On
// Python's main thread Ctrl-C is handled meanwhile: KeyboardInterrupt is raised, and the job
// continues with nothing waiting for it.
void run_interruptibly(std::function<void()> job);

}  // namespace sycl_dnn
