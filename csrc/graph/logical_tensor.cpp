// SPDX-License-Identifier: Apache-2.0
// Properties of logical tensors that oneDNN does not provide.
#include <algorithm>

#include "graph/graph_types.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

using data_type = logical::data_type;
using layout_type = logical::layout_type;
using property_type = logical::property_type;

static std::string name_of(const py::object &member) { return py::str(member.attr("name")); }

int rank_of(const logical &t) {
    // The wrapper throws for an unknown rank, and there is no other query.
    try {
        return static_cast<int>(t.get_dims().size());
    } catch (const dnnl::error &) {
        return DNNL_GRAPH_UNKNOWN_NDIMS;
    }
}

static bool all_known(const dims &values) {
    return std::count(values.begin(), values.end(), DNNL_GRAPH_UNKNOWN_DIM) == 0;
}

bool has_known_shape(const logical &t) { return rank_of(t) >= 0 && all_known(t.get_dims()); }

bool has_known_strides(const logical &t) {
    return t.get_layout_type() != layout_type::strided || all_known(t.get_strides());
}

std::string describe(const logical &t) {
    std::string text = std::to_string(t.get_id()) + ": " + name_of(py::cast(t.get_data_type())) +
                       " " + (rank_of(t) < 0 ? "of unknown rank" : text_of(t.get_dims())) + " " +
                       name_of(py::cast(t.get_layout_type()));
    if (t.get_layout_type() == layout_type::strided && rank_of(t) >= 0)
        text += " " + text_of(t.get_strides());
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

logical canonical(const logical &t) {
    if (t.get_layout_type() != layout_type::strided || !has_known_shape(t) || rank_of(t) == 0)
        return t;
    const dims shape = t.get_dims();
    if (element_count(shape) == 0)
        return logical(t.get_id(), t.get_data_type(), shape, layout_type::strided,
                       t.get_property_type());
    return logical(t.get_id(), t.get_data_type(), shape, canonical_strides(shape, t.get_strides()),
                   t.get_property_type());
}

bool same_layout(const logical &expected, const logical &actual) {
    if (expected.get_data_type() != actual.get_data_type() ||
        expected.get_layout_type() != actual.get_layout_type() ||
        rank_of(expected) != rank_of(actual))
        return false;
    if ((expected.get_property_type() == property_type::host_scalar) !=
        (actual.get_property_type() == property_type::host_scalar))
        return false;
    const dims shape = expected.get_dims();
    if (shape != actual.get_dims()) return false;
    if (expected.get_layout_type() == layout_type::opaque)
        return expected.get_layout_id() == actual.get_layout_id();
    if (expected.get_layout_type() != layout_type::strided) return true;
    if (element_count(shape) == 0) return true;
    const dims a = expected.get_strides(), b = actual.get_strides();
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && a[i] != b[i]) return false;
    return true;
}

}  // namespace sycl_dnn
