// SPDX-License-Identifier: Apache-2.0
#include "primitives/attribute_slots.hpp"

#include <algorithm>

#include "primitives/arguments.hpp"

namespace sycl_dnn {

using kind = dnnl::primitive::kind;

// The name of an argument id for this primitive.
static std::string name_in(const std::vector<Slot> &slots, int id) {
    if (id & DNNL_ARG_ATTR_POST_OP_DW)
        return "post_op_dw_" + name_in(slots, id & ~DNNL_ARG_ATTR_POST_OP_DW);
    for (const Slot &slot : slots)
        if (slot.id == id) return py::str(slot.name);
    if (id == DNNL_ARG_WEIGHTS) return "weights";
    return id == DNNL_ARG_BIAS ? "bias" : id == DNNL_ARG_DST ? "dst" : std::to_string(id);
}

int64_t value_count(const desc &target, const quantization &q) {
    if (q.mask == 0) return 1;
    if (target.is_zero() || has_runtime_dims(target)) return -1;
    const dims shape = target.get_dims();
    const int ndims = target.get_ndims();
    int64_t count = 1;
    for (int d = 0; d < ndims; ++d) {
        if (!(q.mask & (1 << d))) continue;
        const int from_last = ndims - 1 - d;
        const int index = static_cast<int>(q.groups.size()) - 1 - from_last;
        const int64_t group = index >= 0 ? q.groups[index] : 1;
        count *= group > 1 ? shape[d] / group + (shape[d] % group != 0) : shape[d];
    }
    return count;
}

static void add_quantization(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto add = [&](const char *prefix, int bits, const std::map<int, quantization> &all) {
        for (const auto &[id, q] : all)
            slots.push_back(value_slot(pd, prefix + name_in(slots, id), bits | id, q.is_output,
                                       q.type, value_count(pd.argument_desc(id), q), q.on_host));
    };
    add("attr_scales_", DNNL_ARG_ATTR_SCALES, pd.attr->scales);
    add("attr_zero_points_", DNNL_ARG_ATTR_ZERO_POINTS, pd.attr->zero_points);
    add("attr_precomputed_reductions_", DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS, pd.attr->reductions);
}

static void add_random(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    using dt = memory::data_type;
    const auto number = [&](const char *name, dt type, bool on_host) {
        slots.push_back(value_slot(pd, name, argument_id(name), false, type, 1, on_host));
    };
    const auto &rounding = pd.attr->rounding;
    if (std::any_of(rounding.begin(), rounding.end(), [](const auto &entry) {
            return entry.second == dnnl::rounding_mode::stochastic;
        }))
        number("attr_rounding_seed", dt::s32, false);
    if (!pd.attr->drop) return;
    const dropout &drop = *pd.attr->drop;
    number("attr_dropout_probability", dt::f32, drop.on_host);
    number("attr_dropout_seed", drop.seed_type, drop.on_host);
    if (drop.use_offset) number("attr_dropout_offset", dt::s64, drop.on_host);
    if (drop.mask.is_zero()) return;
    Slot mask =
        value_slot(pd, "attr_dropout_mask", DNNL_ARG_ATTR_DROPOUT_MASK, true, dt::u8, 0, false);
    mask.check = Slot::rule::same_desc;
    mask.layout = pd.argument_desc(mask.id).is_zero() ? drop.mask : pd.argument_desc(mask.id);
    slots.push_back(mask);
}

// oneDNN has no descriptor for them: f32, one per index of the dimensions in the mask, read in
// channels-last order regardless of dst.
static Slot prelu_weights(const PrimitiveDesc &pd, const std::string &name, int index) {
    quantization q{0, {}, memory::data_type::f32, false, false};
    pd.attr->handle.get_post_ops().get_params_prelu(index, q.mask);
    const int64_t count = value_count(pd.argument_desc(DNNL_ARG_DST), q);
    Slot slot = value_slot(pd, name, argument_id(name), false, q.type, count, false);
    slot.channels_last = true;
    return slot;
}

static void add_post_ops(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto add = [&](const std::string &name) {
        const int id = argument_id(name);
        if (!pd.argument_desc(id).is_zero()) slots.push_back(exact_slot(pd, name, id, false));
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

void add_attribute_slots(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    add_quantization(pd, slots);
    add_random(pd, slots);
    add_post_ops(pd, slots);
}

}  // namespace sycl_dnn
