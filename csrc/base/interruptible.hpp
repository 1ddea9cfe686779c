// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace sycl_dnn {

// Runs a blocking `job` that does not need the GIL, with the GIL released. Call with the GIL. On
// Python's main thread Ctrl-C raises KeyboardInterrupt, while the job continues in the background.
void run_interruptibly(std::function<void()> job);

}  // namespace sycl_dnn
