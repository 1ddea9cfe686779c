// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sycl_dnn {

// What a step of a program does on the host: in a thread that runs a host task, or the caller's.
class HostWork {
  public:
    virtual ~HostWork() = default;
    // `addresses` are those of the step's values, in order.
    virtual void run(void *const *addresses) const = 0;
    // Whether it takes less time than a host task may need to begin.
    virtual bool is_brief() const { return false; }
};

}  // namespace sycl_dnn
