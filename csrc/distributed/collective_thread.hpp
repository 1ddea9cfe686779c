// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace sycl_dnn {

// On a CPU oneCCL blocks the calling thread. A collective that overlaps with later work runs on
// this thread: as a host task it would occupy one of SYCL's few threads, and a program needs one of
// them.
namespace collective_thread {

struct task {
    std::function<void()> run;
    bool is_ready = false, is_done = false;
};

// Runs after the tasks added before it, once it is `ready`.
std::shared_ptr<task> add(std::function<void()> run);
void ready(task &t);
void wait(const task &t);

}  // namespace collective_thread

}  // namespace sycl_dnn
