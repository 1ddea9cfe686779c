// SPDX-License-Identifier: Apache-2.0
// Rows of reorder, concat and sum, whose constructors differ from the others.
#include "primitives/primitive_row.hpp"

namespace sycl_dnn {

using namespace dnnl;

// oneDNN divides by zero for an axis out of range.
static void check_axis(int axis, const std::vector<desc> &srcs) {
    if (srcs.empty()) throw invalid_arguments("concat: srcs must hold at least one descriptor");
    const int ndims = srcs.front().get_ndims();
    if (axis < 0 || axis >= ndims)
        throw invalid_arguments("concat: concat_dimension must be in [0, " + std::to_string(ndims) +
                                "), got " + std::to_string(axis));
}

// One empty source makes oneDNN leave the whole result unwritten, so empty ones are dropped.
static std::vector<desc> without_empty(const std::vector<desc> &srcs) {
    std::vector<desc> nonempty;
    for (const desc &src : srcs)
        if (element_count(src)) nonempty.push_back(src);
    return nonempty.empty() ? srcs : nonempty;
}

static void bind_many_to_one(py::module_ &m) {
    def_row<opt, int, std::vector<desc>>(
        m, "concat", "dst concat_dimension srcs", "multiple_src -> dst",
        [](const engine &e, const primitive_attr &attr, const desc &dst, int axis,
           const std::vector<desc> &srcs) -> primitive_desc_base {
            check_axis(axis, srcs);
            const auto nonempty = without_empty(srcs);
            if (dst.is_zero()) return concat::primitive_desc(e, axis, nonempty, attr);
            return concat::primitive_desc(e, dst, axis, nonempty, attr);
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
            const Engine &destination = target ? *target : source;
            py::dict parameters;
            parameters["src"] = src;
            parameters["dst"] = dst;
            parameters["dst_engine"] = destination;
            return describe_or_raise("reorder", "src -> dst", source, destination, parameters, attr,
                                     allow_empty,
                                     [&](const primitive_attr &native) -> primitive_desc_base {
                                         return reorder::primitive_desc(
                                             source.handle, src, destination.handle, dst, native);
                                     });
        },
        py::arg("engine"), py::kw_only(), py::arg("src"), py::arg("dst"),
        py::arg("dst_engine") = py::none(), py::arg("attr") = py::none(),
        py::arg("allow_empty") = false,
        "Primitive descriptor of reorder; executes src -> dst. ``dst_engine`` may be another "
        "engine: "
        "the reorder then copies between devices.");
}

void bind_copy_primitives(py::module_ &m) {
    bind_reorder(m);
    bind_many_to_one(m);
}

}  // namespace sycl_dnn
