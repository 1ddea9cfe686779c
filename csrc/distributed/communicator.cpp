// SPDX-License-Identifier: Apache-2.0
// On a CPU oneCCL blocks the calling thread, so a collective is a host task. Its SYCL interface
// requires Level Zero and an in-order queue; that path follows the documentation and is untested.
#include "distributed/communicator.hpp"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace sycl_dnn {

namespace {

// One lock: a process has a single order of collectives across groups.
struct sequence {
    std::mutex guard;
    std::shared_ptr<SubmittedCollective> last;
    std::atomic<bool> has_failed{false};
    std::string failure;
    std::atomic<double> latency{0};
};

// Never destroyed: SYCL's threads may outlive static objects.
sequence &collectives() {
    static auto *instance = new sequence;
    return *instance;
}

int run(const CollectiveCall &c, ccl::communicator comm, void *stream) {
    const ccl::functions &f = ccl::api();
    switch (c.kind) {
        case collective::all_reduce:
            return f.all_reduce(c.src, c.dst, c.count, c.dtype, c.op, comm, stream);
        case collective::reduce:
            return f.reduce(c.src, c.dst, c.count, c.dtype, c.op, c.root, comm, stream);
        case collective::broadcast:
            return f.broadcast(c.src, c.dst, c.count, c.dtype, c.root, comm, stream);
        case collective::reduce_scatter:
            return f.reduce_scatter(c.src, c.dst, c.count, c.dtype, c.op, comm, stream);
        case collective::all_gather:
            return f.all_gather(c.src, c.dst, c.count, c.dtype, comm, stream);
        case collective::all_to_all:
            return f.all_to_all(c.src, c.dst, c.count, c.dtype, comm, stream);
    }
    return -1;
}

void note_failure(const std::string &message) {
    sequence &s = collectives();
    const std::lock_guard<std::mutex> lock(s.guard);
    if (!s.has_failed) s.failure = message;
    s.has_failed = true;
}

// Incomplete results are filled with NaN, so that they cannot be mistaken for valid ones.
void run_on_host(const CollectiveCall &call, ccl::communicator comm, const WatchedCall &watched) {
    if (!collectives().has_failed) {
        watch_begin(watched);
        const double latency = collectives().latency;
        if (latency > 0) std::this_thread::sleep_for(std::chrono::duration<double>(latency));
        const int status = run(call, comm, nullptr);
        watch_end();
        if (!status) return;
        note_failure(watched.words + ": oneCCL says: " + ccl::api().error_string(status));
    }
    if (call.dst_bytes) std::memset(call.dst, 0xff, call.dst_bytes);
}

// A task that only waits. It occupies one of SYCL's threads, so it starts only after `depends`.
sycl::event end_with_lock(sycl::queue &queue, const std::vector<sycl::event> &depends,
                          SubmittedCollective &started) {
    if (started.task) {
        started.event = queue.submit([&](sycl::handler &h) {
            h.depends_on(depends);
            h.depends_on(started.event);
            h.host_task([task = started.task] { collective_thread::wait(*task); });
        });
        started.task.reset();
    }
    return started.event;
}

}  // namespace

Communicator::Communicator(std::string name, std::vector<int> members, int rank,
                           const std::string &id)
    : name(std::move(name)), members(std::move(members)), rank(rank) {
    ccl::unique_id bytes{};
    if (id.size() != sizeof bytes.data)
        throw std::runtime_error("Communicator: id must be one of oneCCL's");
    std::memcpy(bytes.data, id.data(), id.size());
    const ccl::config settings;
    watch_begin({this->name, this->members, 0, "forming the group"});
    const int status =
        ccl::api().init(&own->communicator, this->members.size(), bytes, rank, &settings);
    watch_end();
    ccl::check(status, "group " + this->name);
}

std::function<void()> Communicator::task_of(const CollectiveCall &call) {
    const WatchedCall watched{name, members, n_submitted, call.words};
    return [call, watched, held = own] { run_on_host(call, held->communicator, watched); };
}

sycl::event Communicator::submit_on_host(sycl::queue &queue,
                                         const std::vector<sycl::event> &depends,
                                         const CollectiveCall &call) {
    return queue.submit([&](sycl::handler &h) {
        h.depends_on(depends);
        h.host_task(task_of(call));
    });
}

sycl::event Communicator::submit_on_gpu(sycl::queue &queue, const std::vector<sycl::event> &depends,
                                        const CollectiveCall &call) {
    auto &stream = own->in_order;
    if (!stream)
        stream.emplace(queue.get_context(), queue.get_device(),
                       sycl::property_list{sycl::property::queue::in_order()});
    stream->ext_oneapi_submit_barrier(depends);
    ccl::check(run(call, own->communicator, &*stream), call.words);
    return stream->ext_oneapi_submit_barrier();
}

sycl::event Communicator::submit(sycl::queue &queue, std::vector<sycl::event> depends,
                                 const CollectiveCall &call) {
    sequence &s = collectives();
    const std::lock_guard<std::mutex> lock(s.guard);
    refuse_if_closed();
    if (s.last) depends.push_back(end_with_lock(queue, depends, *s.last));
    ++n_submitted;
    const bool is_gpu = queue.get_device().is_gpu();
    const sycl::event done =
        is_gpu ? submit_on_gpu(queue, depends, call) : submit_on_host(queue, depends, call);
    s.last = std::make_shared<SubmittedCollective>(SubmittedCollective{done, nullptr});
    return done;
}

std::shared_ptr<SubmittedCollective> Communicator::start(sycl::queue &queue,
                                                         std::vector<sycl::event> depends,
                                                         const CollectiveCall &call) {
    sequence &s = collectives();
    const std::lock_guard<std::mutex> lock(s.guard);
    refuse_if_closed();
    // Earlier ones may start first: the thread keeps the order.
    if (s.last) depends.push_back(s.last->event);
    ++n_submitted;
    auto started = std::make_shared<SubmittedCollective>();
    if (queue.get_device().is_gpu()) {
        started->event = submit_on_gpu(queue, depends, call);
    } else {
        started->task = collective_thread::add(task_of(call));
        started->event = queue.submit([&](sycl::handler &h) {
            h.depends_on(depends);
            h.host_task([task = started->task] { collective_thread::ready(*task); });
        });
    }
    s.last = started;
    return started;
}

sycl::event Communicator::end_of(sycl::queue &queue, const std::vector<sycl::event> &depends,
                                 SubmittedCollective &started) {
    const std::lock_guard<std::mutex> lock(collectives().guard);
    return end_with_lock(queue, depends, started);
}

void Communicator::wait(const SubmittedCollective &started) {
    SubmittedCollective current;
    {
        const std::lock_guard<std::mutex> lock(collectives().guard);
        current = started;
    }
    if (current.task)
        collective_thread::wait(*current.task);
    else
        current.event.wait();
}

void Communicator::set_latency(double seconds) { collectives().latency = seconds; }

void Communicator::refuse_if_closed() const {
    if (!own->communicator) throw std::runtime_error("group " + name + " is closed");
}

void Communicator::raise_failure() {
    sequence &s = collectives();
    if (!s.has_failed) return;
    const std::lock_guard<std::mutex> lock(s.guard);
    throw std::runtime_error(s.failure);
}

void Communicator::close() {
    sequence &s = collectives();
    std::shared_ptr<SubmittedCollective> last;
    {
        const std::lock_guard<std::mutex> lock(s.guard);
        last = s.last;
    }
    if (last) wait(*last);
    const std::lock_guard<std::mutex> lock(s.guard);
    ccl::communicator comm = std::exchange(own->communicator, nullptr);
    if (!comm || s.has_failed) return;
    ccl::check(ccl::api().finalize(comm), "group " + name);
    ccl::check(ccl::api().destroy(comm), "group " + name);
}

}  // namespace sycl_dnn
