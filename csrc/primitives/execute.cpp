// SPDX-License-Identifier: Apache-2.0
// Execution of a primitive: submission, and lifetime of what it uses.
#include "primitives/execute.hpp"

#include <oneapi/dnnl/dnnl_sycl.h>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "engine/device_pool.hpp"
#include "engine/host_lane.hpp"
#include "engine/submission.hpp"
#include "profile/profile.hpp"

namespace sycl_dnn {

namespace {

sycl::event submit(const Primitive &p, const Stream &stream, call &c,
                   std::vector<sycl::event> &depends) {
    if (p.is_idle) return sycl::queue(stream.flight->queue).ext_oneapi_submit_barrier(depends);
    const size_t nbytes = c.has_scratchpad ? 0 : p.scratchpad_bytes;
    ScratchpadLease scratchpad(*stream.scratchpads, nbytes, depends);
    if (scratchpad.buffer())
        c.args.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.buffer()->memory.get()});
    const auto execute = [&] {
        sycl::event event;
        check(dnnl_sycl_interop_primitive_execute(p.handle.get(), stream.handle.get(),
                                                  static_cast<int>(c.args.size()), c.args.data(),
                                                  &depends, &event),
              "could not execute the primitive");
        return event;
    };
    HostLane lane(*stream.flight);
    const sycl::event event =
        profile::is_on() ? profile::run(p, stream, c.args, depends, execute) : execute();
    lane.moved(event);
    scratchpad.used_until(event);
    return event;
}

// A reorder between engines runs on only one of them: the GPU's if the other is a CPU, else src's.
// For a stream of the other one oneDNN reports only "invalid arguments".
void check_stream(const Primitive &p, const Stream &stream) {
    if (stream.engine.handle.get() == p.runs_on.handle.get()) return;
    const PrimitiveDesc &pd = *p.pd;
    const bool has_two_engines = pd.engine.handle.get() != pd.dst_engine.handle.get();
    const bool to_gpu = has_two_engines && pd.engine.is_cpu() != pd.dst_engine.is_cpu();
    const char *rule = !has_two_engines ? "the primitive's engine"
                       : to_gpu         ? "the GPU's engine in a reorder between CPU and GPU"
                                        : "src's engine in a reorder between two engines of a kind";
    throw invalid_arguments(std::string(pd.name) + ": stream must be on " + rule + " (" +
                            describe(p.runs_on) + "), got one on the " + describe(stream.engine));
}

}  // namespace

py::object execute(const py::object &self, const Stream &stream, const py::dict &args,
                   const py::object &depends) {
    const Primitive &p = self.cast<const Primitive &>();
    refuse_after_fork();
    check_stream(p, stream);
    call c = collect(p, args);
    c.owners.push_back(self);
    size_t nbytes = 0;
    for (const auto &bound : c.bound) nbytes += bound.second->nbytes;
    std::vector<sycl::event> events;
    append_events(depends, events);
    OrderedCall order(stream, events);
    for (const auto &[slot, memory] : c.bound)
        if (memory->queue)
            order.follow_array(stream, memory->queue, memory->owner[py::int_(0)], events);
    const sycl::event event = submit_or_raise({p.pd->name, "scratchpad", p.scratchpad_bytes},
                                              [&] { return submit(p, stream, c, events); });
    return note_submitted(stream, order, event, std::move(c.owners), nbytes);
}

}  // namespace sycl_dnn
