// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sycl_dnn {

// What a step of a program does on the host: in a thread that runs a host task, or the caller's.
class HostWork {
  public:
    virtual ~HostWork() = default;
    // `addresses` are those of the step's values, in order.
    virtual void run(void *const *addresses) const = 0;
    // Whether it takes less time than a host task may need to begin.
    virtual bool is_brief() const { return false; }

    // The names of its parts in a profile, in order; none if it is a single operation.
    struct part {
        std::string name, implementation;
        bool inserted;
        std::vector<std::string> arguments;  // of its values
    };
    virtual const std::vector<part> &parts() const {
        static const std::vector<part> none;
        return none;
    }
    virtual void run_part(size_t, void *const *addresses) const { run(addresses); }
    // The positions of a part's values, -1 where there is none.
    virtual std::vector<int> values_of_part(size_t) const { return {}; }
};

}  // namespace sycl_dnn
