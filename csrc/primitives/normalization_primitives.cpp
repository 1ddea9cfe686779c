// SPDX-License-Identifier: Apache-2.0
// Rows of the normalizations: batch, group, layer and local response.
#include "primitives/primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;
using dim = memory::dim;
using flags = normalization_flags;

// oneDNN accepts any size and then divides by it.
static void check_local_size(const char *name, dim size) {
    if (size < 1)
        throw invalid_arguments(std::string(name) + ": local_size must be at least 1, got " +
                                std::to_string(size));
}

// Without spatial dimensions the implementation writes out of bounds.
static void check_has_space(const char *name, const desc &src) {
    if (src.get_ndims() == 1 || src.get_ndims() == 2)
        throw invalid_arguments(std::string(name) +
                                ": src must have spatial dimensions, 3 to 5 in all, got " +
                                describe(src));
}

void bind_normalization_primitives(py::module_ &m) {
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
           const desc &dst, dim groups, float epsilon, flags norm_flags) -> primitive_desc_base {
            check_has_space("group_normalization_forward", src);
            return group_normalization_forward::primitive_desc(e, prop, src, dst, groups, epsilon,
                                                               norm_flags, attr);
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

}  // namespace sycl_dnn
