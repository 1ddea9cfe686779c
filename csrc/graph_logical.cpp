// SPDX-License-Identifier: Apache-2.0
// Python class LogicalTensor: what a tensor of a graph is, without its data.
#include <algorithm>

#include "errors.hpp"
#include "graph_types.hpp"

namespace sycl_dnn {

using int_list = std::vector<int64_t>;
using data_type = logical::data_type;
using layout_type = logical::layout_type;
using property_type = logical::property_type;

py::object member_of(const char *enumeration, const py::object &given, const char *argument) {
    const py::object cls = py::module_::import("sycl_dnn._core").attr(enumeration);
    if (py::isinstance(given, cls)) return given;
    const py::object members = cls.attr("__members__");
    // oneDNN's other enumerations share names: data_type.f32 stands for logical_data_type.f32.
    py::object name = py::none();
    if (py::isinstance<py::str>(given))
        name = given;
    else if (py::hasattr(given, "name"))
        name = given.attr("name");
    if (!name.is_none() && members.contains(name)) return members[name];
    const py::str known = py::str(", ").attr("join")(members);
    throw invalid_arguments(std::string(argument) + " must be one of " + std::string(known) +
                            ", got " + std::string(py::str(given)));
}

static std::string name_of(const py::object &member) { return py::str(member.attr("name")); }

static std::string tuple_text(const dims &values) {
    std::string text = "(";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i) text += ", ";
        text += values[i] == DNNL_GRAPH_UNKNOWN_DIM ? "?" : std::to_string(values[i]);
    }
    return text + (values.size() == 1 ? ",)" : ")");
}

static int rank_of(const logical &t) {
    // The wrapper throws for an unknown rank; there is no other query.
    try {
        return static_cast<int>(t.get_dims().size());
    } catch (const dnnl::error &) {
        return DNNL_GRAPH_UNKNOWN_NDIMS;
    }
}

bool has_known_shape(const logical &t) {
    if (rank_of(t) < 0) return false;
    const dims shape = t.get_dims();
    return std::none_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0; });
}

std::string describe(const logical &t) {
    std::string text = std::to_string(t.get_id()) + ": " + name_of(py::cast(t.get_data_type())) +
                       " " + (rank_of(t) < 0 ? "of unknown rank" : tuple_text(t.get_dims())) + " " +
                       name_of(py::cast(t.get_layout_type()));
    if (t.get_layout_type() == layout_type::strided && rank_of(t) >= 0)
        text += " " + tuple_text(t.get_strides());
    if (t.get_property_type() != property_type::undef)
        text += " " + name_of(py::cast(t.get_property_type()));
    return text;
}

static size_t bits_of(data_type type) {
    switch (type) {
        case data_type::s4:
        case data_type::u4:
            return 4;
        case data_type::s64:
            return 64;
        case data_type::f32:
        case data_type::s32:
            return 32;
        case data_type::f16:
        case data_type::bf16:
            return 16;
        default:
            return 8;
    }
}

static int64_t elements_reached(const logical &t) {
    const dims shape = t.get_dims(), strides = t.get_strides();
    int64_t last = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) return 0;
        last += (shape[i] - 1) * strides[i];
    }
    return last + 1;
}

size_t extent(const logical &t) {
    if (t.get_layout_type() != layout_type::strided) return t.get_mem_size();
    return (elements_reached(t) * bits_of(t.get_data_type()) + 7) / 8;
}

bool has_no_gaps(const logical &t) {
    if (t.get_layout_type() != layout_type::strided) return true;
    int64_t count = 1;
    for (int64_t d : t.get_dims()) count *= d;
    return count == elements_reached(t);
}

bool same_layout(const logical &wanted, const logical &given) {
    if (wanted.get_data_type() != given.get_data_type() ||
        wanted.get_layout_type() != given.get_layout_type() || rank_of(wanted) != rank_of(given))
        return false;
    if ((wanted.get_property_type() == property_type::host_scalar) !=
        (given.get_property_type() == property_type::host_scalar))
        return false;
    const dims shape = wanted.get_dims();
    if (shape != given.get_dims()) return false;
    if (wanted.get_layout_type() == layout_type::opaque)
        return wanted.get_layout_id() == given.get_layout_id();
    if (wanted.get_layout_type() != layout_type::strided) return true;
    const dims a = wanted.get_strides(), b = given.get_strides();
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && a[i] != b[i]) return false;
    return true;
}

static dims dims_from(const py::sequence &given) {
    dims made;
    for (const auto &item : given) {
        const int64_t d = item.is_none() ? DNNL_GRAPH_UNKNOWN_DIM : item.cast<int64_t>();
        if (d < 0 && !item.is_none())
            throw invalid_arguments(
                "LogicalTensor: dims must not be negative (None stands for an unknown one), got " +
                std::string(py::str(given)));
        made.push_back(d);
    }
    if (made.size() > DNNL_MAX_NDIMS)
        throw invalid_arguments("LogicalTensor: dims must be at most " +
                                std::to_string(DNNL_MAX_NDIMS) + ", got " +
                                std::to_string(made.size()));
    return made;
}

static py::object dims_to(const dims &values) {
    py::tuple made(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        made[i] = values[i] == DNNL_GRAPH_UNKNOWN_DIM ? py::object(py::none())
                                                      : py::object(py::int_(values[i]));
    return made;
}

static void check_host_scalar(data_type type, const py::object &given) {
    const bool allowed = type == data_type::f32 || type == data_type::s32 || type == data_type::s64;
    if (!allowed || given.is_none() || py::len(given) != 0)
        throw invalid_arguments(
            "LogicalTensor: a host scalar must have dims () and data type f32, s32 or s64, got "
            "dims " +
            std::string(py::str(given)));
}

static logical make_logical(size_t id, const py::object &type, const py::object &given,
                            const py::object &strides, const py::object &layout,
                            const py::object &layout_id, const py::object &property) {
    const auto dtype = enum_of<data_type>("logical_data_type", type, "LogicalTensor: data_type");
    const auto kind =
        enum_of<property_type>("property_type", property, "LogicalTensor: property_type");
    if (kind == property_type::host_scalar) check_host_scalar(dtype, given);
    if (!strides.is_none()) {
        if (given.is_none() || py::len(given) != py::len(strides))
            throw invalid_arguments("LogicalTensor: strides must be as many as dims, got " +
                                    std::string(py::str(strides)) + " for dims " +
                                    std::string(py::str(given)));
        if (py::len(given) > 0)
            return logical(id, dtype, dims_from(given), dims_from(strides), kind);
    }
    if (!layout_id.is_none() && !given.is_none())
        return logical(id, dtype, dims_from(given), layout_id.cast<size_t>(), kind);
    const auto where = layout.is_none() ? layout_type::strided
                                        : enum_of<layout_type>("layout_type", layout,
                                                               "LogicalTensor: layout_type");
    if (where == layout_type::opaque)
        throw invalid_arguments(
            "LogicalTensor: an opaque layout must come with dims and layout_id, got none");
    if (given.is_none()) return logical(id, dtype, DNNL_GRAPH_UNKNOWN_NDIMS, where, kind);
    return logical(id, dtype, dims_from(given), where, kind);
}

static py::object maybe(const logical &t, bool known, dims (logical::*get)() const) {
    return known ? dims_to((t.*get)()) : py::object(py::none());
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
                const bool known = rank_of(t) >= 0 && t.get_layout_type() == layout_type::strided;
                return maybe(t, known, &logical::get_strides);
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
