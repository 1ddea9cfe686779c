// SPDX-License-Identifier: Apache-2.0
#include "program/program.hpp"

#include <oneapi/dnnl/dnnl_sycl.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl_sycl.hpp>

#include "base/errors.hpp"
#include "engine/device_pool.hpp"
#include "engine/host_lane.hpp"
#include "engine/in_flight.hpp"
#include "profile/profile.hpp"

namespace sycl_dnn {

static size_t bytes_of_arrays(const std::vector<Program::value> &values) {
    size_t sum = 0;
    for (const Program::value &v : values)
        if (v.storage == Program::place::array) sum += v.layout.get_size();
    return sum;
}

static size_t brief_steps(const std::vector<Program::step> &steps) {
    const auto is_brief = [](const Program::step &s) { return s.kernel && s.kernel->is_brief(); };
    return std::find_if_not(steps.begin(), steps.end(), is_brief) - steps.begin();
}

static std::vector<Kernel *> unbuilt_kernels(const std::vector<Program::step> &steps,
                                             bool are_brief) {
    std::vector<Kernel *> kernels;
    for (const Program::step &s : steps)
        if (s.kernel && !s.kernel->host && !s.kernel->is_launched() &&
            s.kernel->is_brief_kernel() == are_brief)
            kernels.push_back(s.kernel);
    return kernels;
}

static void build_for_run(std::vector<Kernel *> &unbuilt, size_t &interpreted) {
    if (unbuilt.empty()) return;
    const std::vector<Kernel *> kernels = unbuilt;  // other threads may run meanwhile
    Kernel::before_run(kernels, interpreted);
    unbuilt.erase(std::remove_if(unbuilt.begin(), unbuilt.end(),
                                 [](const Kernel *k) { return k->is_launched(); }),
                  unbuilt.end());
}

Program::Program(const Engine &e, std::vector<value> v, std::vector<step> s, size_t n, size_t bytes,
                 size_t kept, const py::object &o)
    : engine(e),
      values(std::move(v)),
      steps(std::move(s)),
      n_arguments(n),
      arena_bytes(bytes),
      first_kept(kept),
      array_bytes(bytes_of_arrays(values)),
      owners(o),
      has_host_steps(std::any_of(steps.begin(), steps.end(),
                                 [](const step &item) {
                                     return item.primitive ||
                                            (item.kernel &&
                                             (item.kernel->host || item.kernel->is_brief()));
                                 })),
      n_brief(brief_steps(steps)),
      unbuilt(unbuilt_kernels(steps, false)),
      unbuilt_brief(unbuilt_kernels(steps, true)),
      n_interpreted(unbuilt.size()) {}

void Program::finish_builds(size_t first) const {
    for (size_t i = first; i < steps.size(); ++i)
        if (steps[i].kernel) steps[i].kernel->finish_build();
}

void Program::before_run(const Stream &stream, const std::vector<sycl::event> &depends) {
    build_for_run(unbuilt, interpreted);
    n_interpreted = unbuilt.size();
    if (!unbuilt_brief.empty() && launches_brief(stream, depends))
        build_for_run(unbuilt_brief, interpreted);
}

// A host task that waits for a kernel of others, such as dpnp's, takes longer than a kernel, and so
// does one on a queue in order.
bool Program::launches_brief(const Stream &stream, const std::vector<sycl::event> &depends) const {
    return stream.flight->queue.is_in_order() ||
           (steps.size() == 1 && !std::all_of(depends.begin(), depends.end(), is_complete));
}

Program::frame Program::make_frame() const {
    frame new_frame;
    for (const value &v : values) {
        if (v.storage == place::memory) {
            new_frame.memories.push_back(v.memory);
        } else {
            new_frame.memories.push_back(dnnl::sycl_interop::make_memory(
                v.layout, engine.handle, dnnl::sycl_interop::memory_kind::usm, nullptr));
        }
    }
    for (const step &s : steps) {
        std::vector<dnnl_exec_arg_t> args;
        for (const auto &[id, index] : s.args)
            args.push_back({id, new_frame.memories[index].get()});
        new_frame.tables.emplace_back();
        if (s.kernel && !s.kernel->facts.empty())
            new_frame.tables.back().emplace(dnnl::sycl_interop::get_device(engine.handle),
                                            dnnl::sycl_interop::get_context(engine.handle),
                                            args.size(), s.kernel->facts);
        new_frame.args.push_back(std::move(args));
    }
    new_frame.addresses.assign(values.size(), nullptr);
    new_frame.leased = true;
    return new_frame;
}

// Number of frames to search for one with the right addresses.
static constexpr size_t frames_examined = 16;

bool Program::is_placed(const frame &f, const arguments &args, char *arena) const {
    for (size_t i = 0; i < values.size(); ++i) {
        const value &v = values[i];
        if (v.storage == place::memory) continue;
        const char *start = v.storage == place::arena ? arena : args[v.index];
        if (f.addresses[i] != start + v.offset) return false;
    }
    return true;
}

Program::frame &Program::lease_frame(const arguments &args, char *arena) {
    std::lock_guard<std::mutex> lock(guard);
    const auto lend = [&](std::list<frame>::iterator position) -> frame & {
        frames.splice(frames.end(), frames, position);
        position->leased = true;
        return *position;
    };
    size_t n = 0;
    for (auto f = frames.begin(); f != frames.end() && n < frames_examined; ++f, ++n)
        if (!f->leased && is_placed(*f, args, arena) && is_complete(f->last_use)) return lend(f);
    // The one submitted longest ago is the most likely to be complete.
    if (!frames.empty() && !frames.front().leased && is_complete(frames.front().last_use))
        return lend(frames.begin());
    frames.push_back(make_frame());
    return frames.back();
}

// Returns the frame once the call is submitted or has failed.
class Program::frame_lease {
  public:
    frame_lease(Program &p, const arguments &args, char *arena)
        : program(p), lent(p.lease_frame(args, arena)) {}
    ~frame_lease() {
        std::lock_guard<std::mutex> lock(program.guard);
        lent.leased = false;
    }
    frame_lease(const frame_lease &) = delete;

    Program &program;
    frame &lent;
};

void Program::place_values(frame &f, const arguments &args, char *arena) const {
    bool is_changed = !f.is_placed;
    f.is_placed = false;
    for (size_t i = 0; i < values.size(); ++i) {
        const value &v = values[i];
        if (v.storage == place::memory) continue;
        dnnl_memory_t handle = f.memories[i].get();
        char *address = (v.storage == place::arena ? arena : args[v.index]) + v.offset;
        if (f.addresses[i] == address) continue;
        check(dnnl_memory_set_data_handle(handle, address), "could not set the address of a value");
        f.addresses[i] = address;
        is_changed = true;
    }
    for (size_t i = 0; is_changed && i < steps.size(); ++i)
        if (f.tables[i]) f.tables[i]->place(f.args[i]);
    f.is_placed = true;
}

sycl::event Program::submit_step(size_t index, const Stream &stream, frame &f,
                                 std::vector<sycl::event> &depends, bool launches_brief) const {
    if (!profile::is_on()) return submit_quietly(index, stream, f, depends, launches_brief);
    const step &s = steps[index];
    const auto submit_now = [&] {
        return submit_quietly(index, stream, f, depends, launches_brief);
    };
    if (s.primitive) return profile::run(*s.primitive, stream, f.args[index], depends, submit_now);
    if (s.kernel && s.kernel->host && !s.kernel->host->parts().empty())
        return submit_parts(*s.kernel, stream, f.args[index], depends);
    if (s.kernel) return profile::run_kernel(*s.kernel, stream, f.args[index], depends, submit_now);
    return profile::run_fill(values[s.args[0].second].layout, stream, depends, submit_now);
}

sycl::event Program::submit_parts(const Kernel &kernel, const Stream &stream,
                                  const std::vector<dnnl_exec_arg_t> &args,
                                  std::vector<sycl::event> &depends) {
    sycl::event last;
    for (size_t i = 0; i < kernel.host->parts().size(); ++i) {
        last = profile::run_part(*kernel.host, i, stream, args, depends, [&] {
            return kernel.submit_part(stream.flight->queue, i, args, depends);
        });
        depends.assign(1, last);
    }
    return last;
}

sycl::event Program::submit_quietly(size_t index, const Stream &stream, frame &f,
                                    std::vector<sycl::event> &depends, bool launches_brief) const {
    const step &s = steps[index];
    const auto &args = f.args[index];
    sycl::event event;
    if (s.kernel) {
        const AddressTable *table = f.tables[index] ? &*f.tables[index] : nullptr;
        return s.kernel->submit(stream.flight->queue, args, table, depends, launches_brief);
    }
    if (!s.primitive) {
        void *data;
        check(dnnl_memory_get_data_handle(args[0].memory, &data),
              "could not read the address of a value");
        const size_t nbytes = values[s.args[0].second].layout.get_size();
        return sycl::queue(stream.flight->queue).memset(data, 0, nbytes, depends);
    }
    check(dnnl_sycl_interop_primitive_execute(s.primitive->handle.get(), stream.handle.get(),
                                              static_cast<int>(args.size()), args.data(), &depends,
                                              &event),
          "could not execute the primitive");
    return event;
}

size_t Program::end_of_brief(size_t index) const {
    while (index < steps.size() && steps[index].kernel && steps[index].kernel->is_brief()) ++index;
    return index;
}

// Whether steps may run elsewhere than on the caller's queue: not in a profile, nor on a queue in
// order, where what precedes is not among the events.
static bool may_leave_queue(const Stream &stream) {
    return !profile::is_on() && !stream.flight->queue.is_in_order();
}

size_t Program::run_at_once(const Stream &stream, const frame &f,
                            const std::vector<sycl::event> &depends) const {
    if (!n_brief || !may_leave_queue(stream) ||
        !std::all_of(depends.begin(), depends.end(), is_complete))
        return 0;
    for (size_t i = 0; i < n_brief; ++i) steps[i].kernel->run_now(f.args[i]);
    return n_brief;
}

// SYCL takes quadratic time for long sequences that nobody waits for.
static constexpr size_t most_joined = 32;

size_t Program::end_of_launches(size_t index, bool launches_brief) const {
    const auto is_launch = [&](const step &s) {
        return s.kernel && s.kernel->is_launched() && (launches_brief || !s.kernel->is_brief());
    };
    while (index < steps.size() && is_launch(steps[index])) ++index;
    return index;
}

// Intel's CPU runtime gives a kernel that has to wait for another one to a second thread, which
// takes 50 us. A thread that waits for a kernel executes it, and those before it on a queue in
// order. The last one is on the queue of the stream, for which others may wait.
void Program::submit_launches(size_t first, size_t end, const Stream &stream, frame &f,
                              std::vector<sycl::event> &depends, sycl::event &last,
                              bool launches_brief) const {
    const bool is_joined = may_leave_queue(stream);
    for (size_t i = first; i < end; ++i) {
        const bool is_last = i + 1 == end, is_apart = is_joined && !is_last;
        const bool waits = !is_apart || (i - first) % most_joined == 0;
        if (i > first && waits) last.wait();
        if (is_apart) {
            const AddressTable *table = f.tables[i] ? &*f.tables[i] : nullptr;
            last = steps[i].kernel->submit(stream.flight->in_order_queue(), f.args[i], table,
                                           depends, launches_brief);
        } else {
            last = submit_step(i, stream, f, depends, launches_brief);
        }
        depends.assign(is_last, last);
    }
}

void Program::submit(const Stream &stream, frame &f, std::vector<sycl::event> &depends,
                     sycl::event &last) const {
    const bool may_leave = may_leave_queue(stream);
    if (first_kept < n_brief) finish_builds(n_brief);
    if (may_leave) stream.flight->finish_launch(depends);
    const size_t start = run_at_once(stream, f, depends);
    if (start == steps.size()) return;
    HostLane lane(*stream.flight, has_host_tasks());
    const bool launches = launches_brief(stream, depends);
    for (size_t i = start, end; i < steps.size(); i = end) {
        if (steps[i].kernel) steps[i].kernel->finish_build();
        const size_t launched = stream.flight->is_cpu ? end_of_launches(i, launches) : i;
        const size_t brief = launches || profile::is_on() ? i : end_of_brief(i);
        end = std::max({launched, brief, i + 1});
        if (i <= first_kept && first_kept < end) finish_builds(end);
        if (end == i + 1) {
            last = submit_step(i, stream, f, depends, launches);
        } else if (end == launched) {
            submit_launches(i, end, stream, f, depends, last, launches);
        } else {
            Kernel::BriefWork all;
            for (size_t j = i; j < end; ++j) steps[j].kernel->add_to(all, f.args[j]);
            last = Kernel::submit(stream.flight->queue, std::move(all), depends);
        }
        f.last_use = last;
        if (may_leave && end == launched) stream.flight->note_launch(last);
        lane.moved(last);
        depends.assign(1, last);
        const size_t limit = lane.is_held() ? HostLane::most_ahead : InFlight::most_on_cpu;
        stream.flight->bound_steps(last, limit, !lane.is_held());
    }
}

Program::frame Program::bind(const arguments &args, char *arena) const {
    frame bound = make_frame();
    place_values(bound, args, arena);
    return bound;
}

void Program::submit(const Stream &stream, const arguments &args, std::vector<sycl::event> &depends,
                     sycl::event &last) {
    ScratchpadLease arena(*stream.scratchpads, arena_bytes, depends, stream.ordered);
    frame_lease leased(*this, args, arena.pointer());
    place_values(leased.lent, args, arena.pointer());
    try {
        submit(stream, leased.lent, depends, last);
    } catch (...) {
        arena.used_until(last);
        throw;
    }
    arena.used_until(last);
}

}  // namespace sycl_dnn
