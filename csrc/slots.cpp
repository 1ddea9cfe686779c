// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "memory.hpp"
#include "primitive_row.hpp"

namespace sycl_dnn {

using dnnl::normalization_flags;
using dnnl::prop_kind;
using kind = dnnl::primitive::kind;

static py::object interned(const std::string &text) {
    return py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text.c_str()));
}

static Slot exact(const PrimitiveDesc &pd, const std::string &name, int id, bool output) {
    const desc layout = pd.argument_desc(id);
    const auto rule = has_runtime_dims(layout) ? Slot::rule::same_rank : Slot::rule::same_desc;
    const bool is_reorder_dst = id == DNNL_ARG_TO && pd.handle.get_kind() == kind::reorder;
    return {id,
            interned(name),
            rule,
            layout,
            layout.get_data_type(),
            0,
            false,
            output,
            true,
            (is_reorder_dst ? pd.dst_engine : pd.engine).handle.get(),
            id};
}

static Slot values(const PrimitiveDesc &pd, const std::string &name, int id, bool output,
                   memory::data_type type, int64_t count, bool on_host) {
    return {id,     interned(name), Slot::rule::values,     desc(), type, count, on_host,
            output, true,           pd.engine.handle.get(), id};
}

static bool is_normalization(kind k) {
    return k == kind::batch_normalization || k == kind::layer_normalization ||
           k == kind::group_normalization;
}

static bool has_flag(const PrimitiveDesc &pd, normalization_flags flag) {
    return pd.handle.get_flags<unsigned>() & static_cast<unsigned>(flag);
}

// Normalizations describe their statistics and parameters whether an execution uses them or not.
static bool normalization_uses(const PrimitiveDesc &pd, const std::string &name, bool output) {
    const prop_kind prop = pd.handle.get_prop_kind();
    const bool forward =
        prop == prop_kind::forward_training || prop == prop_kind::forward_inference;
    const bool given_stats = has_flag(pd, normalization_flags::use_global_stats);
    if (name == "src_1" || name == "diff_src_1")
        return has_flag(pd, normalization_flags::fuse_norm_add_relu);
    if (name == "scale") return has_flag(pd, normalization_flags::use_scale);
    if (name == "shift") return has_flag(pd, normalization_flags::use_shift);
    if (name == "diff_scale")
        return prop == prop_kind::backward && has_flag(pd, normalization_flags::use_scale);
    if (name == "diff_shift")
        return prop == prop_kind::backward && has_flag(pd, normalization_flags::use_shift);
    if (name != "mean" && name != "variance") return true;
    if (name == "mean" && has_flag(pd, normalization_flags::rms_norm)) return false;
    if (!forward) return true;
    return output ? prop == prop_kind::forward_training && !given_stats : given_stats;
}

static bool eltwise_backward_uses(const PrimitiveDesc &pd, const std::string &name) {
    if (name != "src" && name != "dst") return true;
    const auto algorithm = pd.handle.get_algorithm();
    const bool by_dst = algorithm >= dnnl::algorithm::eltwise_relu_use_dst_for_bwd &&
                        algorithm <= dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd;
    return by_dst == (name == "dst");
}

static bool uses(const PrimitiveDesc &pd, const std::string &name, int id, bool output) {
    if (is_normalization(pd.handle.get_kind()) && !normalization_uses(pd, name, output))
        return false;
    if (std::string_view(pd.name) == "eltwise_backward" && !eltwise_backward_uses(pd, name))
        return false;
    return !pd.argument_desc(id).is_zero();
}

// Sources of concat and sum. Empty ones are checked like the others but not passed on, and do not
// count in oneDNN's numbering, as they were left out of the descriptor.
static void add_sources(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto srcs = pd.parameters["srcs"].cast<std::vector<desc>>();
    const bool all_empty = std::all_of(srcs.begin(), srcs.end(),
                                       [](const desc &src) { return element_count(src) == 0; });
    int next = DNNL_ARG_MULTIPLE_SRC;
    for (size_t i = 0; i < srcs.size(); ++i) {
        const bool left_out = !all_empty && element_count(srcs[i]) == 0;
        Slot slot = exact(pd, "multiple_src_" + std::to_string(i), left_out ? -1 : next++, false);
        if (left_out) slot.layout = srcs[i];
        slot.passed_as = slot.id;
        slot.id = DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i);
        slots.push_back(slot);
    }
}

static void add_tensors(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    bool output = false;
    for (const std::string &name : words(pd.signature)) {
        if (name == "->")
            output = true;
        else if (name == "multiple_src")
            add_sources(pd, slots);
        else if (const int id = argument_id(name); uses(pd, name, id, output))
            slots.push_back(exact(pd, name, id, output));
    }
}

// The name of an argument id in this primitive's own words.
static std::string name_in(const std::vector<Slot> &slots, int id) {
    if (id & DNNL_ARG_ATTR_POST_OP_DW)
        return "post_op_dw_" + name_in(slots, id & ~DNNL_ARG_ATTR_POST_OP_DW);
    for (const Slot &slot : slots)
        if (slot.id == id) return py::str(slot.name);
    if (id == DNNL_ARG_WEIGHTS) return "weights";
    return id == DNNL_ARG_BIAS ? "bias" : id == DNNL_ARG_DST ? "dst" : std::to_string(id);
}

// One value per index of the dimensions in the mask; groups count for the last two dimensions.
static int64_t value_count(const desc &target, const quantization &q) {
    if (q.mask == 0) return 1;
    if (target.is_zero() || has_runtime_dims(target)) return -1;
    const dims shape = target.get_dims();
    const int ndims = target.get_ndims();
    int64_t count = 1;
    for (int d = 0; d < ndims; ++d) {
        if (!(q.mask & (1 << d))) continue;
        const int from_last = ndims - 1 - d;
        const int at = static_cast<int>(q.groups.size()) - 1 - from_last;
        const int64_t group = at >= 0 ? q.groups[at] : 1;
        count *= (shape[d] + group - 1) / std::max<int64_t>(group, 1);
    }
    return count;
}

static void add_quantization(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto add = [&](const char *prefix, int bits, const std::map<int, quantization> &all) {
        for (const auto &[id, q] : all)
            slots.push_back(values(pd, prefix + name_in(slots, id), bits | id, q.is_output, q.type,
                                   value_count(pd.argument_desc(id), q), q.on_host));
    };
    add("attr_scales_", DNNL_ARG_ATTR_SCALES, pd.attr->scales);
    add("attr_zero_points_", DNNL_ARG_ATTR_ZERO_POINTS, pd.attr->zero_points);
    add("attr_precomputed_reductions_", DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS, pd.attr->reductions);
}

static void add_random(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    using dt = memory::data_type;
    const auto number = [&](const char *name, dt type, bool on_host) {
        slots.push_back(values(pd, name, argument_id(name), false, type, 1, on_host));
    };
    const auto &rounding = pd.attr->rounding;
    if (std::any_of(rounding.begin(), rounding.end(),
                    [](const auto &one) { return one.second == dnnl::rounding_mode::stochastic; }))
        number("attr_rounding_seed", dt::s32, false);
    if (!pd.attr->drop) return;
    const dropout &drop = *pd.attr->drop;
    number("attr_dropout_probability", dt::f32, drop.on_host);
    number("attr_dropout_seed", drop.seed_type, drop.on_host);
    if (drop.use_offset) number("attr_dropout_offset", dt::s64, drop.on_host);
    if (drop.mask.is_zero()) return;
    Slot mask = values(pd, "attr_dropout_mask", DNNL_ARG_ATTR_DROPOUT_MASK, true, dt::u8, 0, false);
    mask.check = Slot::rule::same_desc;
    mask.layout = pd.argument_desc(mask.id).is_zero() ? drop.mask : pd.argument_desc(mask.id);
    slots.push_back(mask);
}

// oneDNN has no descriptor for them: f32, one per index of the dimensions in the mask.
static Slot prelu_weights(const PrimitiveDesc &pd, const std::string &name, int index) {
    quantization q{0, {}, memory::data_type::f32, false, false};
    pd.attr->handle.get_post_ops().get_params_prelu(index, q.mask);
    const int64_t count = value_count(pd.argument_desc(DNNL_ARG_DST), q);
    return values(pd, name, argument_id(name), false, q.type, count, false);
}

static void add_post_ops(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto add = [&](const std::string &name) {
        const int id = argument_id(name);
        if (!pd.argument_desc(id).is_zero()) slots.push_back(exact(pd, name, id, false));
    };
    const dnnl::post_ops ops = pd.attr->handle.get_post_ops();
    for (int i = 0; i < ops.len(); ++i) {
        const std::string name = "attr_post_op_" + std::to_string(i);
        add(name + "_src_1");
        add(name + "_src_2");
        if (ops.kind(i) == kind::prelu) slots.push_back(prelu_weights(pd, name + "_weights", i));
    }
    add("attr_post_op_dw_weights");
    add("attr_post_op_dw_bias");
}

static void add_scratchpad(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const desc layout = pd.handle.scratchpad_desc();
    if (layout.is_zero() || layout.get_size() == 0) return;
    Slot slot = exact(pd, "scratchpad", DNNL_ARG_SCRATCHPAD, true);
    slot.layout = layout;
    slot.required = false;
    slots.push_back(slot);
}

std::vector<Slot> slots_of(const PrimitiveDesc &pd) {
    std::vector<Slot> slots;
    add_tensors(pd, slots);
    add_quantization(pd, slots);
    add_random(pd, slots);
    add_post_ops(pd, slots);
    add_scratchpad(pd, slots);
    return slots;
}

static std::string expectation(const Slot &slot) {
    if (slot.check != Slot::rule::values) return describe(slot.layout);
    const std::string type = name_of(slot.type);
    if (slot.on_host) return "a host scalar of type " + type;
    return (slot.count < 0 ? std::string("a dense list") : std::to_string(slot.count)) + " " +
           type + " values";
}

static bool fits_rank(const desc &layout, const desc &given) {
    if (layout.get_ndims() != given.get_ndims() || layout.get_data_type() != given.get_data_type())
        return false;
    const dims wanted = layout.get_dims(), got = given.get_dims();
    for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] != DNNL_RUNTIME_DIM_VAL && wanted[i] != got[i]) return false;
    return true;
}

static bool fits_values(const Slot &slot, const desc &given) {
    if (given.get_data_type() != slot.type) return false;
    const bool is_host = given.get_format_kind() == memory::format_kind::host_scalar;
    if (is_host || slot.on_host) return is_host && slot.on_host;
    if (slot.count >= 0 && element_count(given) != slot.count) return false;
    return extent(given) * 8 ==
           (static_cast<size_t>(element_count(given)) * bits_of(slot.type) + 7) / 8 * 8;
}

static bool fits(const Slot &slot, const desc &given) {
    switch (slot.check) {
        case Slot::rule::same_desc:
            return slot.layout == given;
        case Slot::rule::same_rank:
            return fits_rank(slot.layout, given);
        default:
            return fits_values(slot, given);
    }
}

void check_fit(const char *primitive, const Slot &slot, const Memory &given) {
    const auto fail = [&](const std::string &text) {
        throw invalid_arguments(std::string(primitive) + ": " + std::string(py::str(slot.name)) +
                                " must " + text);
    };
    if (!fits(slot, given.layout))
        fail("be " + expectation(slot) + ", got " + describe(given.layout));
    if (given.engine && given.engine != slot.engine)
        fail("be in memory of the primitive's engine, got memory of another one");
    if (slot.output && !given.writable) fail("be writable, got a read-only array");
}

}  // namespace sycl_dnn
