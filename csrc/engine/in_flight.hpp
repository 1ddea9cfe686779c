// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <sycl/sycl.hpp>
#include <vector>

#include "base/bind.hpp"

namespace sycl_dnn {

inline bool is_complete(const sycl::event &event) {
    return event.get_info<sycl::info::event::command_execution_status>() ==
           sycl::info::event_command_status::complete;
}

// The objects used by unfinished executions of one queue. An entry keeps its Python objects
// (memories, primitive) until its event completes; nothing is submitted for that purpose.
//
// On the CPU device the number of unfinished executions is bounded too: chains of more than some
// hundred dependent host tasks take quadratic time, and waiting for 8 at a time is also the fastest
// mode, because the waiting thread polls instead of being woken.
class InFlight {
  public:
    // The object of a queue, shared by all its streams. Call with the GIL.
    static std::shared_ptr<InFlight> of(const sycl::queue &queue);
    // Waits for everything on every queue and releases it.
    static void finish_all();
    // Waits for everything on the queues of CPUs, including what dpnp submitted. Call with the GIL.
    static void finish_cpu();
    // Waits for everything on every queue. For use after the interpreter's end.
    static void wait_for_all();

    explicit InFlight(const sycl::queue &queue);

    // Keeps `owner` alive while any unfinished execution uses `memory`. Call with the GIL.
    static void hold_with(const py::handle &memory, const py::object &owner);
    // Keeps `owners` alive until the event completes. Call with the GIL.
    void hold(const sycl::event &event, owner_list &&owners, bool is_ordered);
    // How many references to an object the ordered executions hold. Call with the GIL.
    py::ssize_t references_to(py::handle object) const;
    // Call after `hold`, whose owners keep `nbytes` of tensors alive: releases finished entries if
    // there are many. Call with the GIL; may wait without it.
    void tidy(size_t nbytes);
    // Releases what finished executions used. Call with the GIL.
    void prune();
    // The same if queries are cheap, as on the CPU: a result then reuses the memory of the previous
    // one, which is still in the cache.
    void prune_if_cheap() {
        if (is_cpu) prune();
    }
    // Waits for these events and the whole queue without the GIL, then prunes. Ctrl-C interrupts
    // it.
    void wait(std::vector<sycl::event> events);
    size_t size();
    // Waits for the whole queue; false if another thread is waiting. Call without the GIL.
    bool finish(std::try_to_lock_t) const;
    // On the CPU: waits for these events, polling briefly before it blocks. Call without the GIL.
    void wait_polling(const std::vector<sycl::event> &events) const;
    // Counts a step of a program that ends with `last`, and waits for it if `most` steps were
    // submitted since the last wait. Call without the GIL.
    void bound_steps(const sycl::event &last, size_t most, bool polls);
    // Notes the last launch of a program's kernels.
    void note_launch(const sycl::event &event);
    // On the CPU: waits for these events if they are that of the last launch, which the waiting
    // thread then executes. Call without the GIL.
    void finish_launch(std::vector<sycl::event> &events) const;
    // A queue in order of the same device and context, for work that the caller waits for.
    sycl::queue in_order_queue();

    // Measured optimum on 2 cores; see benchmarks/README.md.
    static constexpr size_t most_on_cpu = 8;

    const sycl::queue queue;
    const bool is_cpu;
    // Held by a call from its look at the order of submissions until it is part of that itself.
    std::recursive_timed_mutex turn;

  private:
    struct entry {
        sycl::event event;
        owner_list owners;
        bool is_ordered;  // on an ordered stream: what is submitted later runs after it
    };
    void take_finished(std::vector<entry> &finished);
    static std::list<std::shared_ptr<InFlight>> take_unused(std::vector<entry> &finished);
    void drain();
    bool is_time_to_prune(size_t nbytes);

    std::vector<sycl::event> events_of_all();

    std::atomic<size_t> drains{0};
    // Held while waiting for the whole queue: two threads in OpenCL's clFinish crash the process.
    const std::shared_ptr<std::mutex> finishing = std::make_shared<std::mutex>();
    std::atomic<size_t> ahead{0};  // steps of programs since the last wait
    mutable std::mutex guard;
    std::deque<entry> entries;
    std::optional<sycl::queue> in_order;
    std::optional<sycl::event> last_launch;
    size_t added = 0, added_bytes = 0;  // since the last pruning
};

}  // namespace sycl_dnn
