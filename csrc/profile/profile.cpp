// SPDX-License-Identifier: Apache-2.0
// Recorders: what is kept of each execution, and when its times are read.
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
    const auto [place, is_new] = known.emplace(k, subjects.size());
    if (is_new) subjects.push_back(about);
    records.push_back(r);
    record &kept = records.back();
    kept.subject = place->second;
    if (flight) {
        const auto found = std::find(queues.begin(), queues.end(), flight);
        kept.queue = static_cast<int>(found - queues.begin());
        if (found == queues.end()) queues.push_back(flight);
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
        r.from = clock::none;
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
    std::deque<unsettled> taken;
    {
        std::lock_guard<std::mutex> lock(registry::instance().guard);
        taken.swap(open);
    }
    for (unsettled &one : taken) one.event.wait();
    std::lock_guard<std::mutex> lock(registry::instance().guard);
    for (unsettled &one : taken) read_times(records[one.index], one.event);
}

void registry::add(const record &r, const void *address, const std::string &variant,
                   const std::function<subject()> &describe,
                   const std::shared_ptr<InFlight> &flight, const sycl::event *event) {
    std::lock_guard<std::mutex> lock(guard);
    try {
        std::optional<subject> about;
        static const auto *nothing = new subject;
        for (Recorder *one : on) {
            const Recorder::key k{address, variant};
            const bool is_known = one->known.count(k) > 0;
            if (!is_known && !about) about = describe();
            one->add(r, k, is_known ? *nothing : *about, flight, event);
        }
    } catch (...) {
        // Must not throw: the memories of the running work are not held yet.
        for (Recorder *one : on) ++one->dropped;
    }
}

}  // namespace sycl_dnn::profile
