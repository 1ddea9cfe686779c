// SPDX-License-Identifier: Apache-2.0
#include "engine/host_lane.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "engine/free_processor.hpp"
#include "engine/in_flight.hpp"

namespace sycl_dnn {

using namespace std::chrono_literals;

namespace {

// The interval of the watcher, and the number of intervals without progress after which the lane
// closes: while a step is unfinished, and otherwise.
constexpr auto period = 4ms;
constexpr int most_looks_busy = 5, most_looks_idle = 1;
// The same while the thread computes: a task of others may spin until another one runs.
constexpr int most_looks_computing = 125;
// Two queues in use, or a task that keeps the last thread, would close it again and again.
constexpr auto pause_after_conflict = 100ms;

size_t pool_size() {
    const char *setting = std::getenv("SYCL_QUEUE_THREAD_POOL_SIZE");
    return setting ? std::strtoul(setting, nullptr, 10) : 1;
}

struct state {
    std::mutex guard;
    std::condition_variable ended;
    std::optional<sycl::queue> queue;  // of the idle tasks
    const InFlight *owner = nullptr;
    size_t holders = 0;                              // calls being submitted
    std::atomic<size_t> steps{0};                    // submitted so far
    size_t resting = 0;                              // tasks that occupy a thread or are queued
    bool open = false;                               // the tasks continue
    size_t times = 0;                                // how often it was opened
    sycl::event last;                                // of the last call submitted
    std::optional<clockid_t> clock;                  // CPU time of the thread that is left
    std::optional<FreeProcessor> processor;          // that it is bound to
    std::chrono::steady_clock::time_point conflict;  // when the lane closed because of others
};

// Never destroyed: SYCL's threads may outlive static objects.
state &lane() {
    static auto *instance = new state;
    return *instance;
}

void leave(state &s, bool is_conflict = false) {
    s.open = false;
    s.processor.reset();
    if (is_conflict) s.conflict = std::chrono::steady_clock::now();
    s.ended.notify_all();
}

void rest() {
    state &s = lane();
    std::unique_lock<std::mutex> lock(s.guard);
    s.ended.wait(lock, [&] { return !s.open; });
    --s.resting;
}

// Notes the thread that is left for the steps, and keeps it apart from those of the CPU driver,
// which are TBB's workers: Linux may wake it on the processor of one, which waits as long as it
// computes, and leaves both there for hundreds of calls.
void take_thread(size_t number) {
    state &s = lane();
    std::lock_guard<std::mutex> lock(s.guard);
    --s.resting;
    if (!s.open || s.times != number) return;
    clockid_t clock;
    if (!pthread_getcpuclockid(pthread_self(), &clock)) s.clock = clock;
    s.processor.emplace();
}

std::chrono::nanoseconds time_of_thread(const state &s) {
    timespec time{};
    if (s.clock) clock_gettime(*s.clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The same, and closes the lane.
void watch() {
    state &s = lane();
    std::unique_lock<std::mutex> lock(s.guard);
    size_t seen = s.steps;
    auto time = time_of_thread(s);
    for (int looks = 0, looks_in_step = 0; s.open;) {
        s.ended.wait_for(lock, period);
        const bool is_busy = s.holders || !is_complete(s.last);
        // A thread that computes a long primitive progresses; one that waits does not.
        const auto time_now = time_of_thread(s);
        const bool is_computing = is_busy && time_now - time > period / 4;
        looks_in_step = seen == s.steps ? looks_in_step + 1 : 0;
        looks = is_computing ? 0 : std::min(looks + 1, looks_in_step);
        time = time_now;
        seen = s.steps;
        if (looks >= (is_busy ? most_looks_busy : most_looks_idle) ||
            looks_in_step >= most_looks_computing)
            leave(s, is_busy);
    }
    --s.resting;
}

// Call with the lock.
void enter(state &s, const InFlight &flight, size_t n_threads) {
    if (!s.queue) s.queue.emplace(flight.queue.get_context(), flight.queue.get_device());
    s.queue->wait();  // complete already; SYCL then forgets the last tasks
    s.open = true;
    ++s.times;
    s.owner = &flight;
    s.clock.reset();
    for (; s.resting + 1 < n_threads; ++s.resting) {
        const bool first = s.resting == 0;
        s.queue->submit([&](sycl::handler &h) { h.host_task([=] { first ? watch() : rest(); }); });
    }
    s.queue->submit(
        [&](sycl::handler &h) { h.host_task([number = s.times] { take_thread(number); }); });
    ++s.resting;  // it locks, too: a lane that opened before it has ended would wait for it forever
}

}  // namespace

HostLane::HostLane(const InFlight &flight, bool has_host_tasks) {
    static const size_t n_threads = pool_size();
    if (n_threads < 2 || !has_host_tasks || !flight.is_cpu) return;
    state &s = lane();
    std::lock_guard<std::mutex> lock(s.guard);
    if (s.open && s.owner != &flight) {
        leave(s, true);
        return;
    }
    if (!s.open) {
        if (s.resting) return;  // tasks of the last lane have not ended yet
        if (std::chrono::steady_clock::now() - s.conflict < pause_after_conflict) return;
        enter(s, flight, n_threads);
    }
    ++s.holders;
    held = true;
}

void HostLane::moved(const sycl::event &event) {
    if (!held) return;
    last = event;
    ++lane().steps;
}

void HostLane::finish() {
    state &s = lane();
    std::optional<sycl::queue> resting;
    {
        std::lock_guard<std::mutex> lock(s.guard);
        if (s.open) leave(s);
        resting = s.queue;
    }
    if (resting) resting->wait();
}

std::pair<size_t, bool> HostLane::info() {
    std::lock_guard<std::mutex> lock(lane().guard);
    return {lane().times, lane().open};
}

HostLane::~HostLane() {
    if (!held) return;
    std::lock_guard<std::mutex> lock(lane().guard);
    --lane().holders;
    lane().last = last;
}

}  // namespace sycl_dnn
