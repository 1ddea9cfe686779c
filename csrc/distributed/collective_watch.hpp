// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/control_link.hpp"

namespace sycl_dnn {

// A collective, as reported by the watch.
struct WatchedCall {
    std::string group;         // its name
    std::vector<int> members;  // ranks of the whole job
    size_t number;             // index among the group's collectives
    std::string words;         // description: kind, dtype, size
};

// oneCCL waits forever for a rank that has ended, and cannot be interrupted. So a thread monitors
// the running collective, and ends the process with a reason if it exceeds `timeout`, if a member
// has ended, or if Ctrl-C is not handled.
void start_watch(std::shared_ptr<ControlLink> link, double timeout);

// Called by the thread that runs the collective.
void watch_begin(const WatchedCall &call);
void watch_end();

}  // namespace sycl_dnn
