// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// Moves the calling thread away from a processor that a thread of the CPU driver is bound to; where
// the thread may run stays as it was. Call with the GIL, before work for a CPU is submitted.
void leave_bound_processor();

}  // namespace sycl_dnn
