// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace sycl_dnn {

// Runs `job`, which waits and must not need the GIL, without the GIL. Call with it. On Python's
// main thread a Ctrl-C is heard meanwhile: KeyboardInterrupt goes through, and the job goes on
// without anybody to wait for it.
void run_interruptibly(std::function<void()> job);

}  // namespace sycl_dnn
