// SPDX-License-Identifier: Apache-2.0
#include "program/program_build.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/gil.hpp"
#include "program/program_binary.hpp"

namespace sycl_dnn {

struct ProgramBuild::Work {
    sycl::queue queue;
    std::string module, binary;
    bool done = false;  // this and what follows: under the guard of the builder
    std::optional<program_bundle> bundle;
    std::string made;
};

namespace {

using work_ptr = std::shared_ptr<ProgramBuild::Work>;

struct builder {
    std::mutex guard;
    std::condition_variable changed;
    std::deque<work_ptr> waiting;
    bool running = false;  // the thread, which ends when there is nothing to do
    bool closed = false;   // at exit: who asks builds
};

// Never destroyed: the thread may outlive static objects.
builder &the_builder() {
    static auto *instance = new builder;
    return *instance;
}

std::optional<program_bundle> attempt(program_bundle (*make)(const sycl::queue &,
                                                             const std::string &),
                                      const sycl::queue &queue, const std::string &from) {
    try {
        return make(queue, from);
    } catch (const std::exception &) {
        return std::nullopt;
    }
}

void build(const work_ptr &work) {
    std::optional<program_bundle> bundle;
    std::string made;
    if (!work->binary.empty()) bundle = attempt(&program_of_bytes, work->queue, work->binary);
    if (!bundle) {
        bundle = attempt(&program_of_spirv, work->queue, work->module);
        if (bundle) made = bytes_of(*bundle, work->queue.get_device());
    }
    builder &b = the_builder();
    const std::lock_guard<std::mutex> lock(b.guard);
    work->bundle = std::move(bundle);
    work->made = std::move(made);
    work->module.clear();
    work->binary.clear();
    work->done = true;
    b.changed.notify_all();
}

void build_all() {
    builder &b = the_builder();
    std::unique_lock<std::mutex> lock(b.guard);
    while (!b.waiting.empty()) {
        auto work = std::move(b.waiting.front());
        b.waiting.pop_front();
        lock.unlock();
        build(work);
        work.reset();
        lock.lock();
    }
    b.running = false;
    b.changed.notify_all();
}

// Whether a thread does the work, or will. Not on GPUs: oneDNN and dpnp build kernels in the
// caller's thread meanwhile, and Intel's compiler of driver 22.43 then crashes or never returns.
bool is_given_to_thread(const work_ptr &work) {
    if (!work->queue.get_device().is_cpu()) return false;
    builder &b = the_builder();
    const std::lock_guard<std::mutex> lock(b.guard);
    if (b.closed) return false;
    if (!b.running) {
        try {
            std::thread(build_all).detach();
        } catch (const std::system_error &) {  // the limit of threads
            return false;
        }
        b.running = true;
    }
    b.waiting.push_back(work);
    return true;
}

}  // namespace

ProgramBuild::ProgramBuild(const sycl::queue &queue, std::string module, std::string binary,
                           py::object keep)
    : work(
          std::make_shared<Work>(Work{queue, std::move(module), std::move(binary), false, {}, {}})),
      keep(std::move(keep)) {
    refuse_after_fork();
    watch_for_fork();
}

void ProgramBuild::start() {
    refuse_after_fork();
    if (started.exchange(true)) return;
    const ReleasedGil nogil;
    if (!is_given_to_thread(work)) build(work);
}

std::optional<sycl::kernel> ProgramBuild::kernel(const std::string &name) {
    start();
    std::optional<sycl::kernel> made;
    std::string binary;
    {
        const ReleasedGil nogil;
        builder &b = the_builder();
        std::unique_lock<std::mutex> lock(b.guard);
        b.changed.wait(lock, [&] { return work->done; });
        binary = std::exchange(work->made, {});
        lock.unlock();
        if (work->bundle) made = kernel_in(*work->bundle, name);
    }
    if (!binary.empty()) keep(py::bytes(binary));
    return made;
}

void ProgramBuild::finish() {
    builder &b = the_builder();
    std::unique_lock<std::mutex> lock(b.guard);
    b.closed = true;
    for (const work_ptr &work : std::exchange(b.waiting, {})) work->done = true;
    b.changed.notify_all();
    b.changed.wait(lock, [&] { return !b.running; });
}

}  // namespace sycl_dnn
