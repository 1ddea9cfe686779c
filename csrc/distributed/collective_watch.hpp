// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/control_link.hpp"

namespace sycl_dnn {

// One collective, as the watch reports it.
struct WatchedCall {
    std::string group;         // its name
    std::vector<int> members;  // ranks of the whole job
    size_t number;             // among those of the group
    std::string words;         // what it is: kind, dtype, size
};

// oneCCL waits forever if a rank has gone, and cannot be stopped. A thread checks the
// running collective, and ends the process with a reason: when it takes longer than `timeout`,
// when one of its members has gone, and when Ctrl-C is not handled.
void start_watch(std::shared_ptr<ControlLink> link, double timeout);

// Called by the thread that runs the collective.
void watch_begin(const WatchedCall &call);
void watch_end();

}  // namespace sycl_dnn
