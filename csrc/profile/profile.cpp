// SPDX-License-Identifier: Apache-2.0
// Recorders: what is stored of each execution, and when its times are read.
#include "profile/profile.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/gil.hpp"
#include "engine/in_flight.hpp"
#include "profile/profile_registry.hpp"

namespace sycl_dnn::profile {

std::atomic<int> n_on{0};
std::atomic<int> n_waiting{0};

// Never destroyed: executions may outlive the interpreter's cleanup.
registry &registry::instance() {
    static auto *instance = new registry;
    return *instance;
}

int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

unsigned long this_thread() {
    static thread_local const unsigned long id = syscall(SYS_gettid);
    return id;
}

void Recorder::start() {
    std::lock_guard<std::mutex> lock(registry::instance().guard);
    if (on) return;
    on = true;
    registry::instance().on.push_back(this);
    n_waiting += waits;
    ++n_on;
}

void Recorder::stop() {
    std::lock_guard<std::mutex> lock(registry::instance().guard);
    if (!on) return;
    on = false;
    auto &all = registry::instance().on;
    all.erase(std::find(all.begin(), all.end(), this));
    n_waiting -= waits;
    --n_on;
}

void Recorder::add(const record &r, const key &k, const subject &about,
                   const std::shared_ptr<InFlight> &flight, const sycl::event *event) {
    if (records.size() >= most) {
        ++dropped;
        return;
    }
    const auto [entry, is_new] = subject_numbers.emplace(k, subjects.size());
    if (is_new) subjects.push_back(about);
    records.push_back(r);
    record &added = records.back();
    added.subject = entry->second;
    if (flight) {
        const auto position = std::find(queues.begin(), queues.end(), flight);
        added.queue = static_cast<int>(position - queues.begin());
        if (position == queues.end()) queues.push_back(flight);
    }
    if (event) open.push_back({records.size() - 1, *event});
    settle_finished();
}

// oneDNN may use another queue than the one whose profiling property was read.
static void read_times(record &r, const sycl::event &event) {
    namespace info = sycl::info::event_profiling;
    try {
        r.submitted = event.get_profiling_info<info::command_submit>();
        r.started = event.get_profiling_info<info::command_start>();
        r.finished = event.get_profiling_info<info::command_end>();
    } catch (const sycl::exception &) {
        r.time_source = clock::none;
    }
}

// Events are large. Querying a GPU's often would make its driver submit its batch each time.
void Recorder::settle_finished() {
    static constexpr size_t most_open = 1024;
    while (open.size() > most_open && is_complete(open.front().event)) {
        read_times(records[open.front().index], open.front().event);
        open.pop_front();
    }
}

void Recorder::settle() {
    ReleasedGil nogil;
    std::deque<unsettled> pending;
    {
        std::lock_guard<std::mutex> lock(registry::instance().guard);
        pending.swap(open);
    }
    for (unsettled &entry : pending) entry.event.wait();
    std::lock_guard<std::mutex> lock(registry::instance().guard);
    for (unsettled &entry : pending) read_times(records[entry.index], entry.event);
}

void registry::add(const record &r, const void *address, const std::string &variant,
                   const std::function<subject()> &describe,
                   const std::shared_ptr<InFlight> &flight, const sycl::event *event) {
    std::lock_guard<std::mutex> lock(guard);
    try {
        std::optional<subject> about;
        static const auto *no_subject = new subject;
        for (Recorder *recorder : on) {
            const Recorder::key k{address, variant};
            const bool is_known = recorder->subject_numbers.count(k) > 0;
            if (!is_known && !about) about = describe();
            recorder->add(r, k, is_known ? *no_subject : *about, flight, event);
        }
    } catch (...) {
        // Must not throw: the memories of the running work are not held yet.
        for (Recorder *recorder : on) ++recorder->dropped;
    }
}

}  // namespace sycl_dnn::profile
