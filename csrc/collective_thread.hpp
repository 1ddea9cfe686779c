// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace sycl_dnn {

// oneCCL blocks the thread that calls it on a CPU. A collective that runs beside later work has
// this thread: as a host task it would hold up one of SYCL's few, and a program keeps to one of
// them.
namespace collective_thread {

struct task {
    std::function<void()> run;
    bool is_ready = false, is_done = false;
};

// Takes its turn after those that were added before, once it is `ready`.
std::shared_ptr<task> add(std::function<void()> run);
void ready(task &t);
void wait(const task &t);

}  // namespace collective_thread

}  // namespace sycl_dnn
