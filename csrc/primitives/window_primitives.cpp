// SPDX-License-Identifier: Apache-2.0
// Rows of pooling, resampling and shuffle.
#include <algorithm>

#include "primitives/primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;

// The memory of one-pixel images with the strides of the resized images. oneDNN's kernels use the
// stride of the last axis as the number of channels, or as 1 in row-major images, but for size 1 it
// is arbitrary: they would write past the end of dst, and oneDNN's cache treats descriptors that
// differ only in such strides as equal.
static desc with_known_pixel(const desc &images, const desc &resized) {
    const dims shape = images.get_dims();
    const auto is_one = [](memory::dim n) { return n == 1; };
    if (!is_plain(images) || shape.size() < 3 ||
        !std::all_of(shape.begin() + 2, shape.end(), is_one))
        return images;
    dims strides = images.get_strides();
    if (strides[1] != 1 && shape[1] != 1) return images;
    const bool is_row_major = is_plain(resized) && resized.get_strides().at(1) != 1;
    strides[1] = 1;
    std::fill(strides.begin() + 2, strides.end(), is_row_major ? 1 : shape[1]);
    return desc(shape, images.get_data_type(), strides);
}

void bind_window_primitives(py::module_ &m) {
    row<pooling_forward, prop_kind, algorithm, desc, desc, dims, dims, opt_dims, dims, dims>(
        m, "pooling_forward",
        "prop_kind algorithm src dst strides kernel dilation padding_l padding_r",
        "src -> dst workspace");
    row<pooling_backward, algorithm, desc, desc, dims, dims, opt_dims, dims, dims,
        hint<pooling_forward>>(
        m, "pooling_backward",
        "algorithm diff_src diff_dst strides kernel dilation padding_l padding_r hint_fwd_pd",
        "diff_dst workspace -> diff_src");
    // The overload with factors refuses an empty list even if dst has the size.
    def_row<prop_kind, algorithm, opt_factors, desc, opt>(
        m, "resampling_forward", "prop_kind algorithm factors src dst", "src -> dst",
        [](const engine &e, const primitive_attr &attr, prop_kind prop, algorithm a,
           const std::vector<float> &factors, const desc &src,
           const desc &dst) -> primitive_desc_base {
            using pd = resampling_forward::primitive_desc;
            const desc known_src = with_known_pixel(src, dst);
            if (factors.empty()) return pd(e, prop, a, known_src, dst, attr);
            if (dst.is_zero()) return pd(e, prop, a, factors, known_src, attr);
            return pd(e, prop, a, factors, known_src, dst, attr);
        });
    def_row<algorithm, opt_factors, desc, desc, hint<resampling_forward>>(
        m, "resampling_backward", "algorithm factors diff_src diff_dst hint_fwd_pd",
        "diff_dst -> diff_src",
        [](const engine &e, const primitive_attr &attr, algorithm a,
           const std::vector<float> &factors, const desc &diff_src, const desc &diff_dst,
           const resampling_forward::primitive_desc &forward) -> primitive_desc_base {
            using pd = resampling_backward::primitive_desc;
            const desc known_diff_src = with_known_pixel(diff_src, diff_dst);
            if (factors.empty()) return pd(e, a, known_diff_src, diff_dst, forward, attr);
            return pd(e, a, factors, known_diff_src, diff_dst, forward, attr);
        });
    row<shuffle_forward, prop_kind, desc, desc, int, int>(
        m, "shuffle_forward", "prop_kind src dst axis group_size", "src -> dst");
    row<shuffle_backward, desc, desc, int, int, hint<shuffle_forward>>(
        m, "shuffle_backward", "diff_src diff_dst axis group_size hint_fwd_pd",
        "diff_dst -> diff_src");
}

}  // namespace sycl_dnn
