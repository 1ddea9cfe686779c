// SPDX-License-Identifier: Apache-2.0
#include "primitives/attributes.hpp"

namespace sycl_dnn {

using dt = memory::data_type;
using dnnl::algorithm;

static void append_sum(PostOps &p, float scale, int32_t zero_point, dt type) {
    p.handle.append_sum(scale, zero_point, type);
}
static void append_eltwise(PostOps &p, algorithm alg, float alpha, float beta) {
    p.handle.append_eltwise(alg, alpha, beta);
}
static void append_binary(PostOps &p, algorithm alg, const desc &src1,
                          const std::optional<desc> &src2) {
    const bool selects = alg == algorithm::binary_select;
    if (selects != src2.has_value())
        throw invalid_arguments(
            std::string("append_binary: src2_desc must ") +
            (selects ? "be given with binary_select" : "be None except with binary_select"));
    // oneDNN's primitive cache ignores the condition, so its type must be fixed.
    if (src2 && src2->get_data_type() != dt::s8)
        throw invalid_arguments("append_binary: src2_desc must be s8, got " + describe(*src2));
    if (src2)
        p.handle.append_binary(alg, src1, *src2);
    else
        p.handle.append_binary(alg, src1);
}
static void append_prelu(PostOps &p, int mask) {
    if (mask < 0)
        throw invalid_arguments("append_prelu: mask must not be negative, got " +
                                std::to_string(mask));
    p.handle.append_prelu(mask);
}
static void append_dw(PostOps &p, dt weights, dt bias, dt dst, int64_t kernel, int64_t stride,
                      int64_t padding_l) {
    p.handle.append_dw(weights, bias, dst, kernel, stride, padding_l);
}

static py::tuple params(const PostOps &p, int index) {
    if (index < 0 || index >= p.handle.len())
        throw py::index_error("PostOps: index must be below " + std::to_string(p.handle.len()) +
                              ", got " + std::to_string(index));
    return p.calls[index];
}

// Copies of dnnl::post_ops share their contents.
std::shared_ptr<PostOps> copy_of(const PostOps &p) {
    dnnl_post_ops_t handle;
    dnnl::error::wrap_c_api(dnnl_post_ops_clone(&handle, p.handle.get()),
                            "could not clone post-ops");
    return std::make_shared<PostOps>(PostOps{dnnl::post_ops(handle), copy_of(p.calls)});
}

void bind_post_ops(py::module_ &m) {
    py::class_<PostOps, std::shared_ptr<PostOps>> c(
        m, "PostOps",
        "Operations on a primitive's result, applied in the order in which they were appended.");
    c.def(py::init([] { return PostOps{dnnl::post_ops(), py::list()}; }))
        .def(
            "copy", [](const PostOps &p) { return copy_of(p); }, "An independent copy.")
        .def("__len__", [](const PostOps &p) { return p.handle.len(); })
        .def(
            "kind", [](const PostOps &p, int i) { return params(p, i), p.handle.kind(i); },
            py::arg("index"), "primitive_kind of post-op ``index``.")
        .def("__getitem__", &params, py::arg("index"),
             "(method, arguments) with which post-op ``index`` was appended.");
    def_recorded(c, "append_sum", &append_sum, py::arg("scale") = 1.f, py::arg("zero_point") = 0,
                 py::arg_v("data_type", dt::undef, "data_type.undef"),
                 "dst = result + scale * (old dst - zero_point); dst must hold valid data.");
    def_recorded(c, "append_eltwise", &append_eltwise, py::arg("algorithm"), py::arg("alpha") = 0.f,
                 py::arg("beta") = 0.f, "result = f(result; alpha, beta).");
    def_recorded(
        c, "append_binary", &append_binary, py::arg("algorithm"), py::arg("src1_desc"),
        py::arg("src2_desc") = py::none(),
        "result = op(result, src1); argument attr_post_op_<i>_src_1, shape broadcast by 1.");
    def_recorded(c, "append_prelu", &append_prelu, py::arg("mask"),
                 "Multiply negative results by weights; argument attr_post_op_<i>_weights, f32, "
                 "dense with the "
                 "channels innermost.");
    def_recorded(c, "append_dw", &append_dw, py::arg("weights_data_type"),
                 py::arg("bias_data_type"), py::arg("dst_data_type"), py::arg("kernel_size"),
                 py::arg("stride_size"), py::arg("padding_l_size"),
                 "Depthwise convolution after a 1x1 one (CPU); argument attr_post_op_dw_weights.");
    def_from_calls<PostOps>(c, "PostOps");
}

}  // namespace sycl_dnn
