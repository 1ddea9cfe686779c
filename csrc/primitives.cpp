// SPDX-License-Identifier: Apache-2.0
// One row per primitive of dnnl.hpp, RNN cells apart (rnn_primitives.cpp). The third string lists
// the execution arguments, "inputs -> outputs"; what a descriptor does not use falls away.
#include "primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;
using dim = memory::dim;
using flags = normalization_flags;

static void bind_convolutions(py::module_ &m) {
    row<convolution_forward, prop_kind, algorithm, desc, desc, opt, desc, dims, opt_dims, dims,
        dims>(m, "convolution_forward",
              "prop_kind algorithm src weights bias dst strides dilates padding_l padding_r",
              "src weights bias -> dst");
    row<convolution_backward_data, algorithm, desc, desc, desc, dims, opt_dims, dims, dims,
        hint<convolution_forward>>(
        m, "convolution_backward_data",
        "algorithm diff_src weights diff_dst strides dilates padding_l padding_r hint_fwd_pd",
        "weights diff_dst -> diff_src");
    row<convolution_backward_weights, algorithm, desc, desc, opt, desc, dims, opt_dims, dims, dims,
        hint<convolution_forward>>(m, "convolution_backward_weights",
                                   "algorithm src diff_weights diff_bias diff_dst strides dilates "
                                   "padding_l padding_r hint_fwd_pd",
                                   "src diff_dst -> diff_weights diff_bias");
    row<deconvolution_forward, prop_kind, algorithm, desc, desc, opt, desc, dims, opt_dims, dims,
        dims>(m, "deconvolution_forward",
              "prop_kind algorithm src weights bias dst strides dilates padding_l padding_r",
              "src weights bias -> dst");
    row<deconvolution_backward_data, algorithm, desc, desc, desc, dims, opt_dims, dims, dims,
        hint<deconvolution_forward>>(
        m, "deconvolution_backward_data",
        "algorithm diff_src weights diff_dst strides dilates padding_l padding_r hint_fwd_pd",
        "weights diff_dst -> diff_src");
    row<deconvolution_backward_weights, algorithm, desc, desc, opt, desc, dims, opt_dims, dims,
        dims, hint<deconvolution_forward>>(m, "deconvolution_backward_weights",
                                           "algorithm src diff_weights diff_bias diff_dst strides "
                                           "dilates padding_l padding_r hint_fwd_pd",
                                           "src diff_dst -> diff_weights diff_bias");
}

static void bind_products(py::module_ &m) {
    row<inner_product_forward, prop_kind, desc, desc, opt, desc>(
        m, "inner_product_forward", "prop_kind src weights bias dst", "src weights bias -> dst");
    row<inner_product_backward_data, desc, desc, desc, hint<inner_product_forward>>(
        m, "inner_product_backward_data", "diff_src weights diff_dst hint_fwd_pd",
        "weights diff_dst -> diff_src");
    row<inner_product_backward_weights, desc, desc, opt, desc, hint<inner_product_forward>>(
        m, "inner_product_backward_weights", "src diff_weights diff_bias diff_dst hint_fwd_pd",
        "src diff_dst -> diff_weights diff_bias");
    row<matmul, desc, desc, opt, desc>(m, "matmul", "src weights bias dst",
                                       "src weights bias -> dst");
}

static void bind_elementwise(py::module_ &m) {
    row<eltwise_forward, prop_kind, algorithm, desc, desc, zero, zero>(
        m, "eltwise_forward", "prop_kind algorithm src dst alpha beta", "src -> dst");
    row<eltwise_backward, algorithm, desc, desc, desc, zero, zero, hint<eltwise_forward>>(
        m, "eltwise_backward", "algorithm diff_src diff_dst data alpha beta hint_fwd_pd",
        "src dst diff_dst -> diff_src");
    row<prelu_forward, prop_kind, desc, desc, desc>(m, "prelu_forward", "prop_kind src weights dst",
                                                    "src weights -> dst");
    row<prelu_backward, desc, desc, desc, desc, desc, hint<prelu_forward>>(
        m, "prelu_backward", "src weights diff_src diff_weights diff_dst hint_fwd_pd",
        "src weights diff_dst -> diff_src diff_weights");
    row<softmax_forward, prop_kind, algorithm, desc, desc, int>(
        m, "softmax_forward", "prop_kind algorithm src dst axis", "src -> dst");
    row<softmax_backward, algorithm, desc, desc, desc, int, hint<softmax_forward>>(
        m, "softmax_backward", "algorithm diff_src diff_dst dst axis hint_fwd_pd",
        "dst diff_dst -> diff_src");
    // The overload with a third source refuses an absent one.
    def_row<algorithm, desc, desc, opt, desc>(
        m, "binary", "algorithm src0 src1 src2 dst", "src_0 src_1 src_2 -> dst",
        [](const engine &e, const primitive_attr &attr, algorithm a, const desc &src0,
           const desc &src1, const desc &src2, const desc &dst) -> primitive_desc_base {
            if (src2.is_zero()) return binary::primitive_desc(e, a, src0, src1, dst, attr);
            return binary::primitive_desc(e, a, src0, src1, src2, dst, attr);
        });
    row<reduction, algorithm, desc, desc, zero, zero>(m, "reduction", "algorithm src dst p eps",
                                                      "src -> dst");
}

// oneDNN takes any size and then divides by it.
static void check_local_size(const char *name, dim size) {
    if (size < 1)
        throw invalid_arguments(std::string(name) + ": local_size must be at least 1, got " +
                                std::to_string(size));
}

// Without spatial dimensions the implementation writes outside of its arrays.
static void check_has_space(const char *name, const desc &src) {
    if (src.get_ndims() == 1 || src.get_ndims() == 2)
        throw invalid_arguments(std::string(name) +
                                ": src must have spatial dimensions, 3 to 5 in all, got " +
                                describe(src));
}

static void bind_normalizations(py::module_ &m) {
    row<batch_normalization_forward, prop_kind, desc, desc, float, flags>(
        m, "batch_normalization_forward", "prop_kind src dst epsilon flags",
        "src src_1 mean variance scale shift -> dst mean variance workspace");
    row<batch_normalization_backward, prop_kind, desc, desc, desc, float, flags,
        hint<batch_normalization_forward>>(
        m, "batch_normalization_backward",
        "prop_kind diff_src diff_dst src epsilon flags hint_fwd_pd",
        "src diff_dst mean variance scale workspace -> diff_src diff_src_1 diff_scale diff_shift");
    def_row<prop_kind, desc, desc, dim, float, flags>(
        m, "group_normalization_forward", "prop_kind src dst groups epsilon flags",
        "src mean variance scale shift -> dst mean variance",
        [](const engine &e, const primitive_attr &attr, prop_kind prop, const desc &src,
           const desc &dst, dim groups, float epsilon, flags given) -> primitive_desc_base {
            check_has_space("group_normalization_forward", src);
            return group_normalization_forward::primitive_desc(e, prop, src, dst, groups, epsilon,
                                                               given, attr);
        });
    row<group_normalization_backward, prop_kind, desc, desc, desc, dim, float, flags,
        hint<group_normalization_forward>>(
        m, "group_normalization_backward",
        "prop_kind diff_src diff_dst src groups epsilon flags hint_fwd_pd",
        "src diff_dst mean variance scale -> diff_src diff_scale diff_shift");
    row<layer_normalization_forward, prop_kind, desc, desc, opt, memory::data_type, float, flags>(
        m, "layer_normalization_forward",
        "prop_kind src dst stat scale_shift_data_type epsilon flags",
        "src mean variance scale shift -> dst mean variance");
    row<layer_normalization_backward, prop_kind, desc, desc, desc, opt, memory::data_type,
        memory::data_type, float, flags, hint<layer_normalization_forward>>(
        m, "layer_normalization_backward",
        "prop_kind diff_src diff_dst src stat diff_scale_shift_data_type scale_shift_data_type "
        "epsilon flags hint_fwd_pd",
        "src diff_dst mean variance scale -> diff_src diff_scale diff_shift");
    def_row<prop_kind, algorithm, desc, desc, dim, float, float, float>(
        m, "lrn_forward", "prop_kind algorithm src dst local_size alpha beta k",
        "src -> dst workspace",
        [](const engine &e, const primitive_attr &attr, prop_kind prop, algorithm a,
           const desc &src, const desc &dst, dim size, float alpha, float beta,
           float k) -> primitive_desc_base {
            check_local_size("lrn_forward", size);
            return lrn_forward::primitive_desc(e, prop, a, src, dst, size, alpha, beta, k, attr);
        });
    row<lrn_backward, algorithm, desc, desc, desc, dim, float, float, float, hint<lrn_forward>>(
        m, "lrn_backward", "algorithm diff_src diff_dst src local_size alpha beta k hint_fwd_pd",
        "src diff_dst workspace -> diff_src");
}

static void bind_windows(py::module_ &m) {
    row<pooling_forward, prop_kind, algorithm, desc, desc, dims, dims, opt_dims, dims, dims>(
        m, "pooling_forward",
        "prop_kind algorithm src dst strides kernel dilation padding_l padding_r",
        "src -> dst workspace");
    row<pooling_backward, algorithm, desc, desc, dims, dims, opt_dims, dims, dims,
        hint<pooling_forward>>(
        m, "pooling_backward",
        "algorithm diff_src diff_dst strides kernel dilation padding_l padding_r hint_fwd_pd",
        "diff_dst workspace -> diff_src");
    // The overload with factors refuses an empty list even where dst tells the size.
    def_row<prop_kind, algorithm, opt_factors, desc, opt>(
        m, "resampling_forward", "prop_kind algorithm factors src dst", "src -> dst",
        [](const engine &e, const primitive_attr &attr, prop_kind prop, algorithm a,
           const std::vector<float> &factors, const desc &src,
           const desc &dst) -> primitive_desc_base {
            using pd = resampling_forward::primitive_desc;
            if (factors.empty()) return pd(e, prop, a, src, dst, attr);
            if (dst.is_zero()) return pd(e, prop, a, factors, src, attr);
            return pd(e, prop, a, factors, src, dst, attr);
        });
    def_row<algorithm, opt_factors, desc, desc, hint<resampling_forward>>(
        m, "resampling_backward", "algorithm factors diff_src diff_dst hint_fwd_pd",
        "diff_dst -> diff_src",
        [](const engine &e, const primitive_attr &attr, algorithm a,
           const std::vector<float> &factors, const desc &diff_src, const desc &diff_dst,
           const resampling_forward::primitive_desc &forward) -> primitive_desc_base {
            using pd = resampling_backward::primitive_desc;
            if (factors.empty()) return pd(e, a, diff_src, diff_dst, forward, attr);
            return pd(e, a, factors, diff_src, diff_dst, forward, attr);
        });
    row<shuffle_forward, prop_kind, desc, desc, int, int>(
        m, "shuffle_forward", "prop_kind src dst axis group_size", "src -> dst");
    row<shuffle_backward, desc, desc, int, int, hint<shuffle_forward>>(
        m, "shuffle_backward", "diff_src diff_dst axis group_size hint_fwd_pd",
        "diff_dst -> diff_src");
}

// oneDNN divides by zero on an axis out of range.
static void check_axis(int axis, const std::vector<desc> &srcs) {
    if (srcs.empty()) throw invalid_arguments("concat: srcs must hold at least one descriptor");
    const int ndims = srcs.front().get_ndims();
    if (axis < 0 || axis >= ndims)
        throw invalid_arguments("concat: concat_dimension must be in [0, " + std::to_string(ndims) +
                                "), got " + std::to_string(axis));
}

// One empty source makes oneDNN leave the whole result unwritten, so empty ones are left out.
static std::vector<desc> without_empty(const std::vector<desc> &srcs) {
    std::vector<desc> kept;
    for (const desc &src : srcs)
        if (element_count(src)) kept.push_back(src);
    return kept.empty() ? srcs : kept;
}

static void bind_many_to_one(py::module_ &m) {
    def_row<opt, int, std::vector<desc>>(
        m, "concat", "dst concat_dimension srcs", "multiple_src -> dst",
        [](const engine &e, const primitive_attr &attr, const desc &dst, int axis,
           const std::vector<desc> &srcs) -> primitive_desc_base {
            check_axis(axis, srcs);
            const auto kept = without_empty(srcs);
            if (dst.is_zero()) return concat::primitive_desc(e, axis, kept, attr);
            return concat::primitive_desc(e, dst, axis, kept, attr);
        });
    def_row<opt, std::vector<float>, std::vector<desc>>(
        m, "sum", "dst scales srcs", "multiple_src -> dst",
        [](const engine &e, const primitive_attr &attr, const desc &dst,
           const std::vector<float> &scales, const std::vector<desc> &srcs) -> primitive_desc_base {
            if (dst.is_zero()) return sum::primitive_desc(e, scales, srcs, attr);
            return sum::primitive_desc(e, dst, scales, srcs, attr);
        });
}

static void bind_reorder(py::module_ &m) {
    record(m, "reorder", "src dst dst_engine", "src -> dst");
    m.def(
        "reorder",
        [](const Engine &source, const desc &src, const desc &dst,
           const std::optional<Engine> &target, const attr_ptr &attr, bool allow_empty) {
            const Engine &to = target ? *target : source;
            py::dict given;
            given["src"] = src;
            given["dst"] = dst;
            given["dst_engine"] = to;
            return describe_or_raise("reorder", "src -> dst", source, to, given, attr, allow_empty,
                                     [&](const primitive_attr &native) -> primitive_desc_base {
                                         return reorder::primitive_desc(source.handle, src,
                                                                        to.handle, dst, native);
                                     });
        },
        py::arg("engine"), py::kw_only(), py::arg("src"), py::arg("dst"),
        py::arg("dst_engine") = py::none(), py::arg("attr") = py::none(),
        py::arg("allow_empty") = false,
        "Primitive descriptor of reorder; executes src -> dst. ``dst_engine`` may be another one: "
        "the reorder then copies between devices.");
}

void bind_primitives(py::module_ &m) {
    bind_reorder(m);
    bind_many_to_one(m);
    bind_convolutions(m);
    bind_products(m);
    bind_elementwise(m);
    bind_normalizations(m);
    bind_windows(m);
}

}  // namespace sycl_dnn
