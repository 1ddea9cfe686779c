// SPDX-License-Identifier: Apache-2.0
#include "primitives/refusals.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "primitives/arguments.hpp"
#include "primitives/attribute_slots.hpp"

namespace sycl_dnn {

using kind = dnnl::primitive::kind;
using dt = memory::data_type;

namespace {

[[noreturn]] void refuse(const PrimitiveDesc &pd, const std::string &text) {
    throw invalid_arguments(std::string(pd.name) + ": " + text);
}

// --- condition of a select post-op ---

// oneDNN's generated code reads the condition in the layout of dst regardless of its descriptor,
// which its primitive cache ignores.
void check_condition(const PrimitiveDesc &pd, const dnnl::post_ops &ops, int index) {
    dnnl::algorithm algorithm;
    desc operand, requested;
    ops.get_params_binary(index, algorithm, operand);
    if (algorithm != dnnl::algorithm::binary_select) return;
    ops.get_params_binary(index, algorithm, operand, requested);
    const std::string name = "attr_post_op_" + std::to_string(index) + "_src_2";
    const desc dst = pd.argument_desc(DNNL_ARG_DST), actual = pd.argument_desc(argument_id(name));
    const bool any = requested.get_format_kind() == memory::format_kind::any;
    if (same_offsets(actual, dst) &&
        (any ? requested.get_dims() == dst.get_dims() : actual == requested))
        return;
    refuse(pd, name + " must have the shape and layout of dst (" + describe(dst) + "), got " +
                   describe(any ? actual : requested));
}

void check_conditions(const PrimitiveDesc &pd) {
    const dnnl::post_ops ops = pd.attr->handle.get_post_ops();
    for (int i = 0; i < ops.len(); ++i)
        if (ops.kind(i) == kind::binary) check_condition(pd, ops, i);
}

// --- scales and zero points of a product along K ---

struct factor {
    const char *name;
    int id;
    int k, other;  // which of the last two dimensions is K
};
constexpr factor factors[] = {{"src", DNNL_ARG_SRC, 1, 0}, {"weights", DNNL_ARG_WEIGHTS, 0, 1}};

bool is_integer(dt type) {
    return type == dt::s8 || type == dt::u8 || type == dt::s4 || type == dt::u4;
}

bool is_decompression(const PrimitiveDesc &pd) {
    return is_integer(pd.argument_desc(DNNL_ARG_WEIGHTS).get_data_type()) &&
           !is_integer(pd.argument_desc(DNNL_ARG_SRC).get_data_type());
}

// The rule that the implementation violates, "" if it follows the descriptor.
std::string broken_rule(const PrimitiveDesc &pd, const factor &f, const quantization &q,
                        bool is_scale) {
    const std::string impl = pd.handle.impl_info_str();
    const bool ref = impl.starts_with("ref");
    const int first = pd.argument_desc(f.id).get_ndims() - 2;
    const bool along_k = q.mask >> (first + f.k) & 1, along_other = q.mask >> (first + f.other) & 1;
    const auto group = [&q](int axis) { return q.groups.empty() ? 1 : q.groups[axis]; };
    const bool decompressed = f.id == DNNL_ARG_WEIGHTS && is_decompression(pd);
    if (along_k && !along_other && !ref) return "name both of the last dimensions, or not K";
    if (along_other && group(f.other) > 1 && !ref) return "have groups along K only";
    const bool ungrouped = along_k && group(f.k) == 1 && !decompressed;
    if (ungrouped && !(is_scale ? impl.starts_with("ref:") : ref))
        return "have groups of more than one along K";
    return "";
}

void check_product(const PrimitiveDesc &pd, const char *prefix,
                   const std::map<int, quantization> &settings, bool is_scale) {
    for (const factor &f : factors) {
        const auto setting = settings.find(f.id);
        if (setting == settings.end() || setting->second.is_output) continue;
        const quantization &q = setting->second;
        const std::string rule = broken_rule(pd, f, q, is_scale);
        if (!rule.empty())
            refuse(pd, std::string("mask of ") + prefix + f.name + " must " + rule + " (" +
                           pd.handle.impl_info_str() + " reads them wrongly), got " +
                           std::to_string(q.mask) + " with groups " + text_of(q.groups));
    }
}

void check_products(const PrimitiveDesc &pd) {
    if (pd.handle.get_kind() != kind::matmul || !pd.engine.is_cpu()) return;
    check_product(pd, "attr_scales_", pd.attr->scales, true);
    check_product(pd, "attr_zero_points_", pd.attr->zero_points, false);
}

// --- scales of RNN weights, which are part of the attributes ---

void check_weights_scales(const PrimitiveDesc &pd, const desc &weights, const char *setter,
                          decltype(&dnnl_primitive_attr_get_rnn_weights_qparams) get) {
    dnnl_dim_t count;
    int mask;
    const float *scales;
    check(get(pd.attr->handle.get(), &count, &mask, &scales), setter);
    if (weights.is_zero() || has_runtime_dims(weights)) return;
    // A reorder of states has the attributes of a cell, and uses only those for states.
    if (mask >> weights.get_ndims()) return;
    const int64_t expected_count = value_count(weights, {mask, {}, dt::f32, false, false});
    if (count != expected_count && !(mask == 0 && count == 1))
        refuse(pd, std::string(setter) + ": scales must be " + std::to_string(expected_count) +
                       " for mask " + std::to_string(mask) + " of " + describe(weights) + ", got " +
                       std::to_string(count));
}

void check_rnn_scales(const PrimitiveDesc &pd) {
    const kind k = pd.handle.get_kind();
    if (k != kind::rnn && k != kind::reorder) return;
    const bool cell = k == kind::rnn;
    check_weights_scales(pd, pd.argument_desc(cell ? DNNL_ARG_WEIGHTS_LAYER : DNNL_ARG_FROM),
                         "set_rnn_weights_qparams", &dnnl_primitive_attr_get_rnn_weights_qparams);
    check_weights_scales(pd, pd.argument_desc(cell ? DNNL_ARG_WEIGHTS_PROJECTION : DNNL_ARG_FROM),
                         "set_rnn_weights_projection_qparams",
                         &dnnl_primitive_attr_get_rnn_weights_projection_qparams);
}

}  // namespace

void refuse_unsafe(const PrimitiveDesc &pd) {
    check_conditions(pd);
    check_products(pd);
    check_rnn_scales(pd);
}

}  // namespace sycl_dnn
