// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "primitives/arguments.hpp"
#include "primitives/attribute_slots.hpp"
#include "primitives/new_descriptor.hpp"

namespace sycl_dnn {

using dnnl::normalization_flags;
using dnnl::prop_kind;
using kind = dnnl::primitive::kind;

static py::object interned(const std::string &text) {
    return py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text.c_str()));
}

Slot exact_slot(const PrimitiveDesc &pd, const std::string &name, int id, bool output) {
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

Slot value_slot(const PrimitiveDesc &pd, const std::string &name, int id, bool output,
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

// Normalizations describe statistics and parameters even if an execution does not use them.
static bool normalization_uses(const PrimitiveDesc &pd, const std::string &name, bool output) {
    const prop_kind prop = pd.handle.get_prop_kind();
    const bool forward =
        prop == prop_kind::forward_training || prop == prop_kind::forward_inference;
    const bool uses_global_stats = has_flag(pd, normalization_flags::use_global_stats);
    if (name == "src_1" || name == "diff_src_1")
        return has_flag(pd, normalization_flags::fuse_norm_add_relu);
    if (name == "scale") return has_flag(pd, normalization_flags::use_scale);
    if (name == "shift") return has_flag(pd, normalization_flags::use_shift);
    // Two of the three list these gradients among their outputs even for backward_data.
    const bool has_gradients =
        prop == prop_kind::backward || pd.handle.get_kind() != kind::layer_normalization;
    if (name == "diff_scale") return has_gradients && has_flag(pd, normalization_flags::use_scale);
    if (name == "diff_shift") return has_gradients && has_flag(pd, normalization_flags::use_shift);
    if (name != "mean" && name != "variance") return true;
    if (name == "mean" && has_flag(pd, normalization_flags::rms_norm)) return false;
    if (!forward) return true;
    return output ? prop == prop_kind::forward_training && !uses_global_stats : uses_global_stats;
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

// Sources of concat and sum. Empty ones are validated like the others but not passed on, and are
// not counted in oneDNN's numbering, since they are not part of the descriptor.
static void add_sources(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const auto srcs = pd.parameters["srcs"].cast<std::vector<desc>>();
    const bool all_empty = std::all_of(srcs.begin(), srcs.end(),
                                       [](const desc &src) { return element_count(src) == 0; });
    int next = DNNL_ARG_MULTIPLE_SRC;
    for (size_t i = 0; i < srcs.size(); ++i) {
        const bool left_out = !all_empty && element_count(srcs[i]) == 0;
        Slot slot =
            exact_slot(pd, "multiple_src_" + std::to_string(i), left_out ? -1 : next++, false);
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
            slots.push_back(exact_slot(pd, name, id, output));
    }
}

// C++ code passes a workspace in both directions for these, even if the implementation has none.
static void add_unused_workspace(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    static constexpr kind kinds[] = {kind::lrn, kind::pooling, kind::batch_normalization,
                                     kind::rnn};
    const kind k = pd.handle.get_kind();
    if (std::find(std::begin(kinds), std::end(kinds), k) == std::end(kinds)) return;
    for (const Slot &slot : slots)
        if (slot.id == DNNL_ARG_WORKSPACE) return;
    slots.push_back({DNNL_ARG_WORKSPACE, interned("workspace"), Slot::rule::unused, desc(),
                     memory::data_type::undef, 0, false, false, false, pd.engine.handle.get(), -1});
}

static void add_scratchpad(const PrimitiveDesc &pd, std::vector<Slot> &slots) {
    const desc layout = pd.handle.scratchpad_desc();
    if (layout.is_zero() || layout.get_size() == 0) return;
    Slot slot = exact_slot(pd, "scratchpad", DNNL_ARG_SCRATCHPAD, true);
    slot.layout = layout;
    slot.required = false;
    slots.push_back(slot);
}

std::vector<Slot> slots_of(const PrimitiveDesc &pd) {
    std::vector<Slot> slots;
    add_tensors(pd, slots);
    add_attribute_slots(pd, slots);
    add_unused_workspace(pd, slots);
    add_scratchpad(pd, slots);
    return slots;
}

}  // namespace sycl_dnn
