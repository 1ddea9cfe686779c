// SPDX-License-Identifier: Apache-2.0
// Recorded submissions: primitives, fills, partitions of graphs, and creations.
#include <oneapi/dnnl/dnnl.h>

#include <utility>

#include "engine/in_flight.hpp"
#include "graph/graph_compiled.hpp"
#include "memory/memory_desc.hpp"
#include "primitives/arguments.hpp"
#include "primitives/new_descriptor.hpp"
#include "profile/profile_registry.hpp"
#include "program/kernel.hpp"

// oneDNN's library exports this function for its own tests.
int dnnl_test_is_pd_in_cache(const_dnnl_primitive_desc_t pd) __attribute__((weak));

namespace sycl_dnn::profile {

namespace {

struct family {
    int bits;
    const char *prefix;
};
// The inverse of arguments.cpp, larger numbers first.
constexpr family families[] = {
    {DNNL_ARG_ATTR_POST_OP_DW, "attr_post_op_dw_"},
    {DNNL_ARG_ATTR_ZERO_POINTS, "attr_zero_points_"},
    {DNNL_ARG_ATTR_SCALES, "attr_scales_"},
    {DNNL_ARG_MULTIPLE_DST, "multiple_dst_"},
    {DNNL_ARG_MULTIPLE_SRC, "multiple_src_"},
    {DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS, "attr_precomputed_reductions_"},
};

// Several names share a number: the primitive's own is used.
std::string argument_name(int id, const std::vector<std::string> &names) {
    constexpr int post_op = DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    if (id >= post_op)
        return "attr_post_op_" + std::to_string(id / post_op - 1) + "_" +
               argument_name(id % post_op, {"src_1", "src_2", "weights"});
    for (const family &f : families) {
        if (!(id & f.bits)) continue;
        const bool is_numbered = f.bits == DNNL_ARG_MULTIPLE_SRC || f.bits == DNNL_ARG_MULTIPLE_DST;
        const int rest = id & ~f.bits;
        return f.prefix + (is_numbered ? std::to_string(rest) : argument_name(rest, names));
    }
    for (const std::string &name : names)
        if (argument_id(name) == id) return name;
    return std::to_string(id);
}

tensor tensor_of(const std::string &argument, const desc &d) {
    return {argument, name_of(d.get_data_type()), d.get_dims(), layout_of(d)};
}

desc desc_of(dnnl_memory_t memory) {
    const_dnnl_memory_desc_t borrowed;
    dnnl_memory_desc_t copy;
    dnnl::error::wrap_c_api(dnnl_memory_get_memory_desc(memory, &borrowed), "no descriptor");
    dnnl::error::wrap_c_api(dnnl_memory_desc_clone(&copy, borrowed), "no copy of a descriptor");
    return desc(copy);
}

// The primitive's own descriptor: the Python object may have advanced to another implementation.
std::string implementation_of(const dnnl::primitive &p) {
    const_dnnl_primitive_desc_t pd;
    const char *name = "";
    dnnl::error::wrap_c_api(dnnl_primitive_get_primitive_desc(p.get(), &pd), "no descriptor");
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return name;
}

subject described(const char *kind, const Primitive &p) {
    return {kind,
            p.pd->name,
            implementation_of(p.handle),
            p.inserted,
            {},
            {},
            p.pd->attr,
            std::make_shared<dnnl::primitive>(p.handle)};
}

subject described(const Primitive &p, const std::vector<dnnl_exec_arg_t> &args) {
    subject result = described("primitive", p);
    const auto names = words(p.pd->signature);
    for (const dnnl_exec_arg_t &a : args)
        if (a.arg != DNNL_ARG_SCRATCHPAD)
            result.tensors.push_back(tensor_of(argument_name(a.arg, names), desc_of(a.memory)));
    return result;
}

std::string shapes_of(const std::vector<dnnl_exec_arg_t> &args) {
    std::string text;
    for (const dnnl_exec_arg_t &a : args) text += describe(desc_of(a.memory)) + ";";
    return text;
}

void wait_for(const InFlight &flight, const events &pending) {
    flight.wait_polling(pending);  // returns at once on a GPU
    sycl::event::wait(pending);
}

// Runs `submit` between two readings of the clock.
sycl::event timed(const Stream &stream, const events &depends, const submission &submit,
                  clock time_source, record &r, bool &has_times) {
    const bool waits = n_waiting.load(std::memory_order_relaxed) != 0;
    if (waits) wait_for(*stream.flight, depends);
    r.begin = now();
    const sycl::event event = submit();
    r.end = now();
    r.thread = this_thread();
    using profiling = sycl::property::queue::enable_profiling;
    has_times = time_source != clock::wall && stream.flight->queue.has_property<profiling>();
    if (waits) wait_for(*stream.flight, {event});
    if (has_times) {
        r.time_source = time_source;
    } else if (waits || time_source == clock::wall) {
        r.time_source = clock::wall;
        r.submitted = r.started = r.begin;
        r.finished = now();
    }
    return event;
}

sycl::event recorded(const Stream &stream, const events &depends, const submission &submit,
                     clock time_source, const void *address, const std::string &variant,
                     const std::function<subject()> &describe) {
    record r{};
    bool has_times;
    const sycl::event event = timed(stream, depends, submit, time_source, r, has_times);
    registry::instance().add(r, address, variant, describe, stream.flight,
                             has_times ? &event : nullptr);
    return event;
}

clock clock_of(const Engine &engine) { return engine.is_cpu() ? clock::host_task : clock::device; }

}  // namespace

sycl::event run(const Primitive &p, const Stream &stream, const std::vector<dnnl_exec_arg_t> &args,
                const events &depends, const submission &submit) {
    return recorded(stream, depends, submit, clock_of(stream.engine), p.handle.get(),
                    p.has_runtime_dims ? shapes_of(args) : "", [&] { return described(p, args); });
}

static sycl::event run_named(const HostWork::part &what, clock time_source, const Stream &stream,
                             const std::vector<dnnl_exec_arg_t> &args, const events &depends,
                             const submission &submit) {
    const std::string variant = what.name + " " + what.implementation + " " + shapes_of(args);
    return recorded(stream, depends, submit, time_source, nullptr, variant, [&] {
        subject result{"primitive", what.name, what.implementation, what.inserted, {}, {},
                       nullptr,     nullptr};
        for (size_t i = 0; i < args.size(); ++i) {
            const bool is_named = i < what.arguments.size();
            const std::string name = is_named ? what.arguments[i] : std::to_string(args[i].arg);
            result.tensors.push_back(tensor_of(name, desc_of(args[i].memory)));
        }
        return result;
    });
}

sycl::event run_kernel(const Kernel &k, const Stream &stream,
                       const std::vector<dnnl_exec_arg_t> &args, const events &depends,
                       const submission &submit) {
    const bool is_launched = k.is_launched();
    const clock time_source = is_launched ? clock::device : clock_of(stream.engine);
    const char *way = is_launched ? "opencl" : k.host ? "host" : "interpreted";
    return run_named({k.name, way, false, {}}, time_source, stream, args, depends, submit);
}

sycl::event run_part(const HostWork &work, size_t part, const Stream &stream,
                     const std::vector<dnnl_exec_arg_t> &args, const events &depends,
                     const submission &submit) {
    HostWork::part what = work.parts()[part];
    const std::vector<std::string> names = std::exchange(what.arguments, {});
    const std::vector<int> positions = work.values_of_part(part);
    std::vector<dnnl_exec_arg_t> own;
    for (size_t i = 0; i < positions.size(); ++i)
        if (positions[i] >= 0) {
            own.push_back(args[positions[i]]);
            what.arguments.push_back(names[i]);
        }
    return run_named(what, clock_of(stream.engine), stream, own, depends, submit);
}

sycl::event run_fill(const desc &layout, const Stream &stream, const events &depends,
                     const submission &submit) {
    const std::string text = describe(layout);
    return recorded(stream, depends, submit, clock::device, nullptr, "fill " + text, [&] {
        return subject{"fill",  "zeros", "", false, {}, {tensor_of("dst", layout)},
                       nullptr, nullptr};
    });
}

static std::string layout_of(const logical &t) {
    using type = logical::layout_type;
    const type layout = t.get_layout_type();
    if (t.get_property_type() == logical::property_type::host_scalar) return "host_scalar";
    return layout == type::strided ? "strides=" + text_of(t.get_strides()) : "opaque";
}

static subject described(const CompiledPartition &p, const std::string &label) {
    subject result{
        "partition", label, "graph", false,
        {},          {},    nullptr, std::make_shared<graph::compiled_partition>(p.handle)};
    const auto add = [&result](const char *name, const std::vector<logical> &side) {
        for (size_t i = 0; i < side.size(); ++i) {
            const auto type = static_cast<memory::data_type>(side[i].get_data_type());
            result.tensors.push_back(
                {name + std::to_string(i), name_of(type), side[i].get_dims(), layout_of(side[i])});
        }
    };
    add("src_", p.inputs);
    add("dst_", p.outputs);
    return result;
}

sycl::event run_partition(const CompiledPartition &p, const std::string &label,
                          const Stream &stream, const events &depends, const submission &submit) {
    // Partitions on the CPU device are complete on return.
    const clock time_source = p.engine.is_cpu() ? clock::wall : clock::device;
    std::string shapes = label;
    for (const logical &t : p.inputs) shapes += text_of(t.get_dims());
    return recorded(stream, depends, submit, time_source, p.handle.get(), shapes,
                    [&] { return described(p, label); });
}

std::optional<bool> is_cached(const dnnl::primitive_desc_base &pd) {
    if (!dnnl_test_is_pd_in_cache) return std::nullopt;
    return dnnl_test_is_pd_in_cache(pd.get()) != 0;
}

void note_created(const Primitive &p, std::optional<bool> was_cached, int64_t begin) {
    record r{};
    r.begin = begin;
    r.end = now();
    r.thread = this_thread();
    subject created = described("create", p);
    created.was_cached = was_cached;
    for (const Slot &slot : p.slots)
        if (slot.check != Slot::rule::values && slot.id != DNNL_ARG_SCRATCHPAD)
            created.tensors.push_back(tensor_of(py::str(slot.name), slot.layout));
    registry::instance().add(r, p.handle.get(), "create", [&] { return created; });
}

}  // namespace sycl_dnn::profile
