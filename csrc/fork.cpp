// SPDX-License-Identifier: Apache-2.0
#include "fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

namespace sycl_dnn {

static std::atomic<bool> forked{false};

void watch_for_fork() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
}

bool was_forked() { return forked; }

void refuse_after_fork() {
    if (forked)
        throw std::runtime_error(
            "sycl_dnn: this process was forked from one that had used a device, and SYCL does not "
            "survive that; start processes with multiprocessing's \"spawn\"");
}

}  // namespace sycl_dnn
