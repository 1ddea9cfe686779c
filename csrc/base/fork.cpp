// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "base/bind.hpp"

namespace sycl_dnn {

static std::atomic<bool> forked{false};

// Replaces SYCL's exit handlers, which wait for threads that exist only in the parent.
static void leave(int status, void *) {
    std::fflush(nullptr);
    _exit(status);
}

static void begin_child() {
    forked = true;
    on_exit(leave, nullptr);
}

// At exit dpctl waits for the events of its order managers; those of the parent never complete.
static void forget_events() {
    py::module_::import("dpctl.utils._order_manager").attr("f").attr("detach")();
}

void watch_for_fork() {
    static bool is_watching = false;  // under the GIL
    if (std::exchange(is_watching, true)) return;
    pthread_atfork(nullptr, nullptr, begin_child);
    py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                           py::cpp_function(&forget_events));
}

bool was_forked() { return forked; }

void refuse_after_fork() {
    if (forked)
        throw std::runtime_error(
            "sycl_dnn: this process was forked from one that had used a device, and SYCL does not "
            "survive that; start processes with multiprocessing's \"spawn\"");
}

}  // namespace sycl_dnn
