// SPDX-License-Identifier: Apache-2.0
// Execution of a partition, with an order that oneDNN respects.
#include "graph/graph_execute.hpp"

#include <oneapi/dnnl/dnnl_graph_sycl.h>

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "engine/device_pool.hpp"
#include "engine/host_lane.hpp"
#include "engine/submission.hpp"
#include "graph/graph_call.hpp"
#include "profile/profile.hpp"

namespace sycl_dnn {

namespace {

sycl::event submit_to(const CompiledPartition &p, dnnl_stream_t stream, graph_call &c,
                      const_dnnl_graph_tensor_t scratchpad,
                      const std::vector<sycl::event> &depends) {
    if (p.reshapes && !p.engine.is_cpu() && !depends.empty())
        dnnl::sycl_interop::get_queue(dnnl::stream(stream, true))
            .ext_oneapi_submit_barrier(depends);
    sycl::event event;
    check(dnnl_graph_sycl_interop_compiled_partition_execute_v2(
              p.handle.get(), stream, c.inputs.size(), c.inputs.data(), c.outputs.size(),
              c.outputs.data(), scratchpad, &depends, &event),
          "could not execute the compiled partition");
    // On GPUs too: readers of the results use another queue than the partition.
    if (p.needs_order) event.wait();
    return event;
}

// oneDNN loses events in three cases. On any device, a reshape copies without waiting, and so do
// copies of constant scales and zero points. On the CPU, index generation does not wait for copies
// of host scalars. An in-order queue keeps copies in sequence.
struct ordered_stream {
    dnnl_engine_t engine;
    bool has_times;
    dnnl::stream handle;
};

dnnl_stream_t in_order_stream(const CompiledPartition &p, const sycl::queue &queue) {
    static auto *guard = new std::mutex;
    static auto *streams = new std::list<ordered_stream>;
    std::lock_guard<std::mutex> lock(*guard);
    namespace queue_property = sycl::property::queue;
    const bool has_times = queue.has_property<queue_property::enable_profiling>();
    for (const ordered_stream &candidate : *streams)
        if (candidate.engine == p.engine.handle.get() && candidate.has_times == has_times)
            return candidate.handle.get();
    const auto properties = has_times ? sycl::property_list{queue_property::in_order(),
                                                            queue_property::enable_profiling()}
                                      : sycl::property_list{queue_property::in_order()};
    sycl::queue ordered(queue.get_context(), queue.get_device(), properties);
    streams->push_back({p.engine.handle.get(), has_times,
                        dnnl::sycl_interop::make_stream(p.engine.handle, ordered)});
    return streams->back().handle.get();
}

// Returns the stream to submit to; on the CPU, after waiting for all dependencies.
dnnl_stream_t submission_stream(const CompiledPartition &p, const Stream &stream,
                                std::vector<sycl::event> &depends) {
    if (p.engine.is_cpu()) {
        stream.flight->wait_polling(depends);
        depends.clear();
    }
    if (!p.needs_order) return stream.handle.get();
    sycl::event::wait(depends);
    depends.clear();
    return in_order_stream(p, stream.flight->queue);
}

sycl::event submit_in_order(const CompiledPartition &p, const Stream &stream, graph_call &c,
                            std::vector<sycl::event> &depends) {
    dnnl_stream_t target = submission_stream(p, stream, depends);
    if (c.scratchpad) return submit_to(p, target, c, c.scratchpad, depends);
    if (!p.scratchpad_bytes) return submit_to(p, target, c, nullptr, depends);
    ScratchpadLease lease(*stream.scratchpads, p.scratchpad_bytes, depends);
    const graph::tensor lent(p.scratchpad, p.engine.handle, lease.pointer());
    const sycl::event event = submit_to(p, target, c, lent.get(), depends);
    lease.used_until(event);
    return event;
}

}  // namespace

sycl::event submit_partition(const CompiledPartition &p, const Stream &stream, graph_call &c,
                             std::vector<sycl::event> &depends) {
    const auto submit_now = [&] { return submit_in_order(p, stream, c, depends); };
    HostLane lane(*stream.flight);
    const sycl::event event = profile::is_on()
                                  ? profile::run_partition(p, c.label, stream, depends, submit_now)
                                  : submit_now();
    lane.moved(event);
    return event;
}

py::object execute_partition(const py::object &self, const Stream &stream,
                             const py::sequence &inputs, const py::sequence &outputs,
                             const py::object &scratchpad, const py::object &depends) {
    const auto &p = self.cast<const CompiledPartition &>();
    refuse_after_fork();
    if (stream.engine.handle.get() != p.engine.handle.get())
        throw invalid_arguments(
            "CompiledPartition.execute: stream must be on the partition's engine (" +
            describe(p.engine) + "), got one on the " + describe(stream.engine));
    graph_call c = collect(p, inputs, outputs, scratchpad);
    c.owners.push_back(self);
    std::vector<sycl::event> events;
    append_events(depends, events);
    OrderedCall order(stream, events);
    for (const GraphTensor *tensor : c.bound)
        order.follow_array(stream, tensor->queue, tensor->owner, events);
    const failure_text text{"CompiledPartition.execute", "scratchpad", p.scratchpad_bytes};
    const sycl::event event =
        submit_or_raise(text, [&] { return submit_partition(p, stream, c, events); });
    return note_submitted(stream, order, event, std::move(c.owners), c.nbytes);
}

}  // namespace sycl_dnn
