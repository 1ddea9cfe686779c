// SPDX-License-Identifier: Apache-2.0
#include "engine/in_flight.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <thread>

#include "base/fork.hpp"
#include "base/gil.hpp"
#include "base/interruptible.hpp"

namespace sycl_dnn {

// SYCL keeps some 400 bytes for every event of a queue until someone waits for the whole queue.
static constexpr size_t drains_per_queue_wait = 64;
// Querying the event of a GPU makes the driver submit its batch: 3 to 4 us per call if done for 16
// at a time. So it is done rarely, unless much memory depends on it.
static constexpr size_t most_added = 64, most_added_bytes = size_t{256} << 20;
static constexpr auto polling_time = std::chrono::microseconds(50);
// Work may depend on what the caller does later, so waits for it are limited.
static constexpr auto longest_finish = std::chrono::seconds(2);
static constexpr auto settling_time = std::chrono::microseconds(100);

namespace {
struct registry {
    std::mutex guard;
    std::list<std::shared_ptr<InFlight>> all;
};
// Never destroyed: entries may outlive the interpreter's cleanup.
registry &the_registry() {
    static auto *instance = new registry;
    return *instance;
}
}  // namespace

// Removes queues without a stream whose work is done.
std::list<std::shared_ptr<InFlight>> InFlight::take_unused(std::vector<entry> &finished) {
    std::list<std::shared_ptr<InFlight>> &all = the_registry().all, unused;
    for (auto next = all.begin(); next != all.end();) {
        const auto position = next++;
        if (position->use_count() > 1) continue;
        (*position)->take_finished(finished);
        if ((*position)->size() == 0) unused.splice(unused.end(), all, position);
    }
    return unused;
}

std::shared_ptr<InFlight> InFlight::of(const sycl::queue &queue) {
    // Destroyed at the end, without the lock.
    std::vector<entry> finished;
    std::list<std::shared_ptr<InFlight>> unused;
    std::shared_ptr<InFlight> flight;
    {
        std::lock_guard<std::mutex> lock(the_registry().guard);
        for (const auto &candidate : the_registry().all)
            if (candidate->queue == queue) return candidate;
        unused = take_unused(finished);
        flight = the_registry().all.emplace_back(std::make_shared<InFlight>(queue));
    }
    return flight;
}

InFlight::InFlight(const sycl::queue &q) : queue(q), is_cpu(q.get_device().is_cpu()) {}

size_t InFlight::size() {
    std::lock_guard<std::mutex> lock(guard);
    return entries.size();
}

void InFlight::take_finished(std::vector<entry> &finished) {
    std::lock_guard<std::mutex> lock(guard);
    while (!entries.empty() && is_complete(entries.front().event)) {
        finished.push_back(std::move(entries.front()));
        entries.pop_front();
    }
}

void InFlight::prune() {
    std::vector<entry> finished;  // destroyed without the lock
    take_finished(finished);
}

void InFlight::wait_polling(const std::vector<sycl::event> &events) const {
    if (!is_cpu) return;
    const auto deadline = std::chrono::steady_clock::now() + polling_time;
    for (sycl::event event : events) {
        while (!is_complete(event)) {
            if (std::chrono::steady_clock::now() > deadline) {
                event.wait();
                break;
            }
            std::this_thread::yield();
        }
    }
}

void InFlight::bound_steps(const sycl::event &last, size_t most, bool polls) {
    if (!is_cpu || ++ahead < most) return;
    ahead = 0;
    if (polls)
        wait_polling({last});
    else
        sycl::event(last).wait();
}

void InFlight::note_launch(const sycl::event &event) {
    std::lock_guard<std::mutex> lock(guard);
    last_launch = event;
}

void InFlight::finish_launch(std::vector<sycl::event> &events) const {
    if (!is_cpu || events.size() != 1) return;
    {
        std::lock_guard<std::mutex> lock(guard);
        if (last_launch != events.front()) return;
    }
    events.front().wait();
    events.clear();
}

sycl::queue InFlight::in_order_queue() {
    std::lock_guard<std::mutex> lock(guard);
    if (!in_order) {
        const sycl::property_list properties{sycl::property::queue::in_order()};
        in_order.emplace(queue.get_context(), queue.get_device(), properties);
    }
    return *in_order;
}

std::vector<sycl::event> InFlight::events_of_all() {
    std::lock_guard<std::mutex> lock(guard);
    std::vector<sycl::event> events;
    for (const entry &e : entries) events.push_back(e.event);
    return events;
}

void InFlight::drain() {
    const std::vector<sycl::event> events = events_of_all();
    ahead = 0;
    ReleasedGil nogil;
    if (is_cpu)
        wait_polling(events);
    else
        sycl::event::wait(events);
    if (++drains % drains_per_queue_wait == 0) finish(std::try_to_lock);
}

bool InFlight::finish(std::try_to_lock_t) const {
    std::unique_lock<std::mutex> lock(*finishing, std::try_to_lock);
    if (!lock) return false;
    sycl::queue(queue).wait();
    std::optional<sycl::queue> other;
    {
        std::lock_guard<std::mutex> reading(guard);
        other = in_order;
    }
    if (other) other->wait();
    return true;
}

bool InFlight::is_time_to_prune(size_t nbytes) {
    if (is_cpu) return entries.size() >= most_on_cpu;
    added_bytes += nbytes;
    if (++added < most_added && added_bytes < most_added_bytes) return false;
    added = added_bytes = 0;
    return true;
}

void InFlight::hold(const sycl::event &event, owner_list &&owners, bool is_ordered) {
    std::lock_guard<std::mutex> lock(guard);
    entries.push_back({event, std::move(owners), is_ordered});
}

py::ssize_t InFlight::references_to(py::handle object) const {
    const auto is_object = [&](const py::object &owner) { return owner.is(object); };
    py::ssize_t count = 0;
    std::lock_guard<std::mutex> lock(guard);
    for (const entry &e : entries)
        if (e.is_ordered) count += std::count_if(e.owners.begin(), e.owners.end(), is_object);
    return count;
}

void InFlight::tidy(size_t nbytes) {
    {
        std::lock_guard<std::mutex> lock(guard);
        if (!is_time_to_prune(nbytes)) return;
    }
    if (is_cpu) drain();
    prune();
}

// Whether all are complete by the deadline, without a system call.
static bool polled(const std::vector<sycl::event> &events) {
    const auto deadline = std::chrono::steady_clock::now() + polling_time;
    for (const sycl::event &event : events)
        while (!is_complete(event)) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            std::this_thread::yield();
        }
    return true;
}

void InFlight::wait(std::vector<sycl::event> events) {
    refuse_after_fork();
    for (const sycl::event &event : events_of_all()) events.push_back(event);
    bool is_done;
    {
        ReleasedGil nogil;
        is_done = polled(events) && finish(std::try_to_lock);
    }
    // A wait for the queue returns too early if another thread waits too: SYCL has passed all its
    // events to that thread. Waits for single events are correct.
    if (!is_done)
        run_interruptibly([events = std::move(events), all = queue, alone = finishing]() mutable {
            for (sycl::event &event : events) event.wait();
            std::lock_guard<std::mutex> lock(*alone);
            all.wait();
        });
    prune();
}

static std::list<std::shared_ptr<InFlight>> all_queues() {
    std::lock_guard<std::mutex> lock(the_registry().guard);
    return the_registry().all;
}

void InFlight::hold_with(const py::handle &memory, const py::object &owner) {
    const auto is_memory = [&](const py::object &used) { return used.is(memory); };
    for (const auto &flight : all_queues()) {
        std::lock_guard<std::mutex> lock(flight->guard);
        for (entry &e : flight->entries)
            if (std::any_of(e.owners.begin(), e.owners.end(), is_memory)) e.owners.push_back(owner);
    }
    // Other threads may be about to submit with it.
    static auto *deferred_owners = new owner_list;
    owner_list released;  // destroyed at the end
    if (ReleasedGil::count() == 0) std::swap(released, *deferred_owners);
    if (ReleasedGil::count() != 0) deferred_owners->push_back(owner);
}

void InFlight::finish_all() {
    for (const auto &flight : all_queues()) {
        flight->drain();
        flight->prune();
    }
}

void InFlight::finish_cpu() {
    for (const auto &flight : all_queues()) {
        if (!flight->is_cpu) continue;
        const std::vector<sycl::event> events = flight->events_of_all();
        const auto is_done = [&] { return std::all_of(events.begin(), events.end(), is_complete); };
        if (is_done()) continue;
        {
            ReleasedGil nogil;
            const auto deadline = std::chrono::steady_clock::now() + longest_finish;
            while (!is_done() && std::chrono::steady_clock::now() < deadline)
                std::this_thread::sleep_for(settling_time);
            // SYCL releases tasks that waited for the last event right after it.
            std::this_thread::sleep_for(settling_time);
        }
        flight->prune();
    }
}

void InFlight::wait_for_all() {
    for (const auto &flight : all_queues())
        for (sycl::event event : flight->events_of_all()) event.wait();
}

}  // namespace sycl_dnn
