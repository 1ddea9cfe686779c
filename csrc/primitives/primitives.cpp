// SPDX-License-Identifier: Apache-2.0
// One row per primitive of dnnl.hpp. The third string lists the execution arguments, "inputs ->
// outputs"; those that a descriptor does not use are dropped. This file has products of tensors and
// element-wise operations; other rows are in copy_, normalization_, window_ and rnn_primitives.cpp.
#include "primitives/primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;

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
    // The overload with a third source does not accept an absent one.
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

void bind_primitives(py::module_ &m) {
    bind_convolutions(m);
    bind_products(m);
    bind_elementwise(m);
}

}  // namespace sycl_dnn
