// SPDX-License-Identifier: Apache-2.0
#include "distributed/collective_thread.hpp"

#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace sycl_dnn::collective_thread {

namespace {

struct state {
    std::mutex guard;
    std::condition_variable changed;
    std::deque<std::shared_ptr<task>> waiting;
    bool has_thread = false;
};

// Never destroyed: the thread outlives static objects.
state &all() {
    static auto *instance = new state;
    return *instance;
}

[[noreturn]] void work() {
    sigset_t signals;
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    state &s = all();
    std::unique_lock<std::mutex> lock(s.guard);
    for (;;) {
        s.changed.wait(lock, [&] { return !s.waiting.empty() && s.waiting.front()->is_ready; });
        const std::shared_ptr<task> next = std::move(s.waiting.front());
        s.waiting.pop_front();
        lock.unlock();
        next->run();
        next->run = nullptr;
        lock.lock();
        next->is_done = true;
        s.changed.notify_all();
    }
}

}  // namespace

std::shared_ptr<task> add(std::function<void()> run) {
    auto new_task = std::make_shared<task>();
    new_task->run = std::move(run);
    state &s = all();
    const std::lock_guard<std::mutex> lock(s.guard);
    if (!s.has_thread) std::thread(&work).detach();
    s.has_thread = true;
    s.waiting.push_back(new_task);
    return new_task;
}

void ready(task &t) {
    state &s = all();
    const std::lock_guard<std::mutex> lock(s.guard);
    t.is_ready = true;
    s.changed.notify_all();
}

void wait(const task &t) {
    state &s = all();
    std::unique_lock<std::mutex> lock(s.guard);
    s.changed.wait(lock, [&] { return t.is_done; });
}

}  // namespace sycl_dnn::collective_thread
