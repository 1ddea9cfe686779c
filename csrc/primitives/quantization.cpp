// SPDX-License-Identifier: Apache-2.0
#include "primitives/quantization.hpp"

#include <cmath>

#include "primitives/arguments.hpp"

namespace sycl_dnn {

using dt = memory::data_type;
using dnnl::quantization_mode;

namespace {

// oneDNN's rules for every argument.
void check_setting(const char *setter, int mask, const dims &groups) {
    const auto require = [setter](bool ok, const std::string &text) {
        if (!ok) throw invalid_arguments(std::string(setter) + ": " + text);
    };
    require(mask >= 0, "mask must not be negative, got " + std::to_string(mask));
    if (groups.empty()) return;
    require(groups.size() == 2 && groups[0] > 0 && groups[1] > 0,
            "groups must be () or two positive numbers, got " + text_of(groups));
    require(mask != 0,
            "mask must name a dimension if there are groups, got 0 with groups " + text_of(groups));
}

void set_scales_mask(PrimitiveAttr &a, argument arg, int mask) {
    check_setting("set_scales_mask", mask, {});
    a.handle.set_scales_mask(arg.id, mask);
    a.scales[arg.id] = {mask, {}, dt::f32, false, false};
}
void set_scales(PrimitiveAttr &a, argument arg, int mask, const dims &groups, dt type,
                bool is_on_host, quantization_mode qmode) {
    check_setting("set_scales", mask, groups);
    a.handle.set_scales(arg.id, mask, groups, type, is_on_host, qmode);
    const bool dynamic =
        qmode == quantization_mode::dynamic_mx || qmode == quantization_mode::dynamic_fp;
    a.scales[arg.id] = {mask, groups, type, is_on_host, dynamic};
}
void set_host_scale(PrimitiveAttr &a, argument arg, dt type) {
    a.handle.set_host_scale(arg.id, type);
    a.scales[arg.id] = {0, {}, type, true, false};
}
void set_zero_points_mask(PrimitiveAttr &a, argument arg, int mask) {
    check_setting("set_zero_points_mask", mask, {});
    a.handle.set_zero_points_mask(arg.id, mask);
    a.zero_points[arg.id] = {mask, {}, dt::s32, false, false};
}
void set_zero_points(PrimitiveAttr &a, argument arg, int mask, const dims &groups, dt type,
                     bool is_on_host) {
    check_setting("set_zero_points", mask, groups);
    a.handle.set_zero_points(arg.id, mask, groups, type, is_on_host);
    a.zero_points[arg.id] = {mask, groups, type, is_on_host, false};
}
void set_host_zero_point(PrimitiveAttr &a, argument arg, dt type) {
    a.handle.set_host_zero_point(arg.id, type);
    a.zero_points[arg.id] = {0, {}, type, true, false};
}
void set_precomputed_reductions(PrimitiveAttr &a, argument arg, int mask, const dims &groups,
                                dt type) {
    check_setting("set_precomputed_reductions", mask, groups);
    a.handle.set_precomputed_reductions(arg.id, mask, groups, type);
    a.reductions[arg.id] = {mask, groups, type, false, false};
}

// If the first one is DNNL_RUNTIME_F32_VAL, oneDNN keeps a truncated list.
void check_finite(const char *setter, const std::vector<float> &scales) {
    for (const float scale : scales)
        if (!std::isfinite(scale))
            throw invalid_arguments(std::string(setter) + ": scales must be finite, got " +
                                    std::to_string(scale));
}

void set_rnn_data_qparams(PrimitiveAttr &a, float scale, float shift) {
    a.handle.set_rnn_data_qparams(scale, shift);
}
void set_rnn_weights_qparams(PrimitiveAttr &a, int mask, const std::vector<float> &scales) {
    check_finite("set_rnn_weights_qparams", scales);
    a.handle.set_rnn_weights_qparams(mask, scales);
}
void set_rnn_weights_projection_qparams(PrimitiveAttr &a, int mask,
                                        const std::vector<float> &scales) {
    check_finite("set_rnn_weights_projection_qparams", scales);
    a.handle.set_rnn_weights_projection_qparams(mask, scales);
}

}  // namespace

void bind_quantization(attr_class &c) {
    const auto f32 = [] { return py::arg_v("data_type", dt::f32, "data_type.f32"); };
    const auto s32 = [] { return py::arg_v("data_type", dt::s32, "data_type.s32"); };
    def_recorded(c, "set_scales_mask", &set_scales_mask, py::arg("arg"), py::arg("mask"),
                 "f32 scales of an argument, one for each index of the dimensions in ``mask``: an "
                 "execution reads them in row-major order of these dimensions.");
    def_recorded(
        c, "set_scales", &set_scales, py::arg("arg"), py::arg("mask"), py::arg("groups") = dims{},
        f32(), py::arg("is_on_host") = false,
        py::arg_v("qmode", quantization_mode::static_sazp, "quantization_mode.static_sazp"),
        "Scales with groups in the last two dimensions and other data types. Those of an "
        "execution must be row-major: for ``mask`` 3 and groups (G, 1) of weights (K, N), one "
        "after the other as in an array (K / G, N). A transposed view is refused: copy it.");
    def_recorded(c, "set_host_scale", &set_host_scale, py::arg("arg"), f32());
    def_recorded(c, "set_zero_points_mask", &set_zero_points_mask, py::arg("arg"), py::arg("mask"),
                 "s32 zero points, laid out as ``set_scales_mask`` says.");
    def_recorded(c, "set_zero_points", &set_zero_points, py::arg("arg"), py::arg("mask"),
                 py::arg("groups") = dims{}, s32(), py::arg("is_on_host") = false,
                 "Zero points with groups, laid out as ``set_scales`` says.");
    def_recorded(c, "set_host_zero_point", &set_host_zero_point, py::arg("arg"), s32());
    def_recorded(c, "set_precomputed_reductions", &set_precomputed_reductions, py::arg("arg"),
                 py::arg("mask"), py::arg("groups") = dims{}, s32(),
                 "Sums over the groups, laid out as ``set_scales`` says.");
    def_recorded(c, "set_rnn_data_qparams", &set_rnn_data_qparams, py::arg("scale"),
                 py::arg("shift"));
    def_recorded(c, "set_rnn_weights_qparams", &set_rnn_weights_qparams, py::arg("mask"),
                 py::arg("scales"));
    def_recorded(c, "set_rnn_weights_projection_qparams", &set_rnn_weights_projection_qparams,
                 py::arg("mask"), py::arg("scales"));
}

// Binary's constructor calls src_0 "src0".
static std::string argument_name(std::string parameter) {
    if (parameter == "src0" || parameter == "src1" || parameter == "src2")
        return std::string("src_") + parameter.back();
    return parameter;
}

// The row's parameter that describes an execution argument, with the argument's name; entries of
// "srcs" are multiple_src_<i>.
static std::optional<std::pair<std::string, desc>> tensor_of(const py::dict &parameters, int id) {
    for (const auto &[key, value] : parameters) {
        const std::string name = argument_name(py::str(key));
        const size_t index = static_cast<size_t>(id - DNNL_ARG_MULTIPLE_SRC);
        if (name == "srcs" && id >= DNNL_ARG_MULTIPLE_SRC && index < py::len(value))
            return std::pair("multiple_src_" + std::to_string(index),
                             value.cast<std::vector<desc>>()[index]);
        if (!py::isinstance<desc>(value)) continue;
        if (argument_id(name) == id) return std::pair(name, value.cast<desc>());
    }
    return std::nullopt;
}

static void check_mask(const std::string &context, int mask, const std::string &tensor,
                       const desc &layout) {
    const int ndims = layout.get_ndims();
    if (layout.is_zero() || mask < 1 << ndims) return;
    throw invalid_arguments(context + " must be below " + std::to_string(1 << ndims) + " (" +
                            tensor + " has " + std::to_string(ndims) + " dimensions), got " +
                            std::to_string(mask));
}

static void check_prelu_masks(const std::string &primitive, const py::dict &parameters,
                              const PrimitiveAttr &attr) {
    const dnnl::post_ops ops = attr.handle.get_post_ops();
    for (int i = 0; i < ops.len(); ++i) {
        if (ops.kind(i) != dnnl::primitive::kind::prelu) continue;
        int mask;
        ops.get_params_prelu(i, mask);
        if (const auto dst = tensor_of(parameters, DNNL_ARG_DST))
            check_mask(primitive + ": mask of attr_post_op_" + std::to_string(i) + "_weights", mask,
                       dst->first, dst->second);
    }
}

void check_masks(const char *primitive, const py::dict &parameters, const PrimitiveAttr &attr) {
    const auto check = [&](const char *prefix, const std::map<int, quantization> &settings) {
        for (const auto &[id, q] : settings)
            if (const auto tensor = tensor_of(parameters, id))
                check_mask(std::string(primitive) + ": mask of " + prefix + tensor->first, q.mask,
                           tensor->first, tensor->second);
    };
    check("attr_scales_", attr.scales);
    check("attr_zero_points_", attr.zero_points);
    check("attr_precomputed_reductions_", attr.reductions);
    check_prelu_masks(primitive, parameters, attr);
}

}  // namespace sycl_dnn
