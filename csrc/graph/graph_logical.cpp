// SPDX-License-Identifier: Apache-2.0
// Python class LogicalTensor: the description of a graph's tensor, without data.
#include "base/errors.hpp"
#include "graph/graph_types.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

using data_type = logical::data_type;
using layout_type = logical::layout_type;
using property_type = logical::property_type;

static dims dims_from(const py::sequence &values) {
    dims shape;
    for (const auto &item : values) {
        const int64_t d = item.is_none() ? DNNL_GRAPH_UNKNOWN_DIM : item.cast<int64_t>();
        if (d < 0 && !item.is_none())
            throw invalid_arguments(
                "LogicalTensor: dims must not be negative (None stands for an unknown one), got " +
                std::string(py::str(values)));
        shape.push_back(d);
    }
    if (shape.size() > DNNL_MAX_NDIMS)
        throw invalid_arguments("LogicalTensor: dims must be at most " +
                                std::to_string(DNNL_MAX_NDIMS) + ", got " +
                                std::to_string(shape.size()));
    return shape;
}

// Above this, oneDNN's size computations overflow, and small buffers seem large enough.
static void check_size(const dims &shape, const dims &strides = {}) {
    if (!is_countable(shape))
        throw invalid_arguments(
            "LogicalTensor: dims must stand for fewer than 2**56 elements, got " + text_of(shape));
    if (!strides.empty() && !is_within_reach(shape, strides))
        throw invalid_arguments(
            "LogicalTensor: strides must reach fewer than 2**56 elements, got " + text_of(strides) +
            " for dims " + text_of(shape));
}

static py::object dims_to(const dims &values) {
    py::tuple items(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        items[i] = values[i] == DNNL_GRAPH_UNKNOWN_DIM ? py::object(py::none())
                                                       : py::object(py::int_(values[i]));
    return items;
}

static void check_host_scalar(data_type type, const py::object &sizes) {
    const bool allowed = type == data_type::f32 || type == data_type::s32 || type == data_type::s64;
    if (!allowed || sizes.is_none() || py::len(sizes) != 0)
        throw invalid_arguments(
            "LogicalTensor: a host scalar must have dims () and data type f32, s32 or s64, got "
            "dims " +
            std::string(py::str(sizes)));
}

static logical make_strided(size_t id, data_type type, const py::object &sizes,
                            const py::object &strides, property_type kind) {
    if (sizes.is_none() || py::len(sizes) != py::len(strides))
        throw invalid_arguments("LogicalTensor: strides must be as many as dims, got " +
                                std::string(py::str(strides)) + " for dims " +
                                std::string(py::str(sizes)));
    const dims shape = dims_from(sizes), steps = dims_from(strides);
    check_size(shape, steps);
    if (shape.empty()) return logical(id, type, shape, layout_type::strided, kind);
    return canonical(logical(id, type, shape, steps, kind));
}

static logical make_logical(size_t id, const py::object &type, const py::object &sizes,
                            const py::object &strides, const py::object &layout,
                            const py::object &layout_id, const py::object &property) {
    const auto dtype = enum_of<data_type>("logical_data_type", type, "LogicalTensor: data_type");
    const auto kind =
        enum_of<property_type>("property_type", property, "LogicalTensor: property_type");
    if (kind == property_type::host_scalar) check_host_scalar(dtype, sizes);
    if (!strides.is_none()) return make_strided(id, dtype, sizes, strides, kind);
    const dims shape = sizes.is_none() ? dims() : dims_from(sizes);
    check_size(shape);
    if (!layout_id.is_none() && !sizes.is_none())
        return logical(id, dtype, shape, layout_id.cast<size_t>(), kind);
    const auto layout_kind = layout.is_none() ? layout_type::strided
                                              : enum_of<layout_type>("layout_type", layout,
                                                                     "LogicalTensor: layout_type");
    if (layout_kind == layout_type::opaque)
        throw invalid_arguments(
            "LogicalTensor: an opaque layout must come with dims and layout_id, got none");
    if (sizes.is_none()) return logical(id, dtype, DNNL_GRAPH_UNKNOWN_NDIMS, layout_kind, kind);
    return logical(id, dtype, shape, layout_kind, kind);
}

static py::object maybe(const logical &t, bool is_known, dims (logical::*get)() const) {
    return is_known ? dims_to((t.*get)()) : py::object(py::none());
}

void bind_graph_logical(py::module_ &m) {
    py::class_<logical>(m, "LogicalTensor",
                        "What a tensor of a graph is: number, data type, shape, layout. Immutable.")
        .def(py::init(&make_logical), py::arg("id"), py::arg("data_type"),
             py::arg("dims") = py::none(), py::kw_only(), py::arg("strides") = py::none(),
             py::arg("layout_type") = py::none(), py::arg("layout_id") = py::none(),
             py::arg("property_type") = "undef",
             "``dims`` is None for an unknown rank and holds None for unknown sizes. Without "
             "``strides`` or another ``layout_type`` the tensor is row-major.")
        .def_property_readonly("id", &logical::get_id)
        .def_property_readonly("data_type", &logical::get_data_type)
        .def_property_readonly("layout_type", &logical::get_layout_type)
        .def_property_readonly("property_type", &logical::get_property_type)
        .def_property_readonly(
            "dims", [](const logical &t) { return maybe(t, rank_of(t) >= 0, &logical::get_dims); },
            "The shape; None if the rank is unknown, None for each unknown size.")
        .def_property_readonly(
            "strides",
            [](const logical &t) {
                const bool is_known =
                    rank_of(t) >= 0 && t.get_layout_type() == layout_type::strided;
                return maybe(t, is_known, &logical::get_strides);
            },
            "In elements; None unless the layout is strided.")
        .def_property_readonly(
            "layout_id",
            [](const logical &t) {
                return t.get_layout_type() == layout_type::opaque
                           ? py::object(py::int_(t.get_layout_id()))
                           : py::object(py::none());
            },
            "oneDNN's number of an opaque layout; None for others.")
        .def_property_readonly("has_known_shape", &has_known_shape)
        .def_property_readonly(
            "mem_size",
            [](const logical &t) {
                if (!has_known_shape(t))
                    throw invalid_arguments(
                        "LogicalTensor.mem_size: the shape must be known, got " + describe(t));
                return t.get_mem_size();
            },
            "Bytes that memory in this layout takes.")
        .def("is_equal", &logical::is_equal, py::arg("other"),
             "Whether number, type, shape and layout are equal.")
        .def("__repr__", [](const logical &t) { return "<LogicalTensor " + describe(t) + ">"; });
}

}  // namespace sycl_dnn
