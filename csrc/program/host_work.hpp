// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// What a host task does as a step of a program, in the thread that runs the task.
class HostWork {
  public:
    virtual ~HostWork() = default;
    // `addresses` are those of the step's values, in order.
    virtual void run(void *const *addresses) const = 0;
};

}  // namespace sycl_dnn
