// SPDX-License-Identifier: Apache-2.0
#include "memory/usm_array.hpp"

#include <algorithm>

namespace sycl_dnn {

namespace {

enum class verdict { unknown, right, wrong };

bool are_sizes(const Py_ssize_t *sizes, const py::tuple &expected) {
    for (size_t i = 0; i < expected.size(); ++i)
        if (sizes[i] != expected[i].cast<Py_ssize_t>()) return false;
    return true;
}

// Whether the struct matches the attributes of an array.
bool agrees(const UsmArray &fields, py::handle array) {
    const auto size = reinterpret_cast<PyTypeObject *>(Py_TYPE(array.ptr()))->tp_basicsize;
    if (size < static_cast<Py_ssize_t>(sizeof(UsmArray))) return false;
    const py::tuple shape = array.attr("shape"), strides = array.attr("strides");
    return fields.ndim == static_cast<int>(shape.size()) &&
           py::int_(reinterpret_cast<uintptr_t>(fields.data)).equal(array.attr("_pointer")) &&
           fields.base == py::object(array.attr("usm_data")).ptr() &&
           fields.typenum == array.attr("dtype").attr("num").cast<int>() &&
           are_sizes(fields.shape, shape) &&
           (!fields.strides || are_sizes(fields.strides, strides)) &&
           bool(fields.flags & UsmArray::writable) ==
               array.attr("flags").attr("writable").cast<bool>();
}

}  // namespace

const UsmArray *usm_array(py::handle array, const py::object &type) {
    static verdict struct_verdict = verdict::unknown;  // under the GIL
    if (reinterpret_cast<PyObject *>(Py_TYPE(array.ptr())) != type.ptr()) return nullptr;
    const auto *fields = reinterpret_cast<const UsmArray *>(array.ptr());
    if (struct_verdict == verdict::unknown) {
        // An array without axes or elements tells too little about the struct: the next one
        // decides.
        if (!py::bool_(array.attr("shape")) || !array.attr("size").cast<Py_ssize_t>())
            return nullptr;
        struct_verdict = agrees(*fields, array) ? verdict::right : verdict::wrong;
    }
    return struct_verdict == verdict::right ? fields : nullptr;
}

static std::vector<Py_ssize_t> dense(const Py_ssize_t *shape, int ndim, bool is_row_major) {
    std::vector<Py_ssize_t> strides(ndim);
    Py_ssize_t step = 1;
    for (int n = 0; n < ndim; ++n) {
        const int axis = is_row_major ? ndim - 1 - n : n;
        strides[axis] = step;
        step *= std::max<Py_ssize_t>(shape[axis], 1);
    }
    return strides;
}

std::vector<Py_ssize_t> strides_of(const UsmArray &fields) {
    if (fields.strides) return {fields.strides, fields.strides + fields.ndim};
    return dense(fields.shape, fields.ndim, fields.is_row_major());
}

ArrayFacts::ArrayFacts(const py::tuple &sizes, const py::object &steps, const py::object &dtype)
    : shape(sizes.cast<std::vector<Py_ssize_t>>()), typenum(dtype.attr("num").cast<int>()) {
    const auto in_rows = dense(shape.data(), static_cast<int>(shape.size()), true);
    strides = steps.is_none() ? in_rows : steps.cast<std::vector<Py_ssize_t>>();
    is_row_major = strides == in_rows;
}

bool ArrayFacts::has_strides_of(const UsmArray &fields) const {
    if (fields.strides) return std::equal(strides.begin(), strides.end(), fields.strides);
    return fields.is_row_major() ? is_row_major : strides_of(fields) == strides;
}

bool ArrayFacts::are_those_of(const UsmArray &fields) const {
    return fields.typenum == typenum && (fields.flags & UsmArray::writable) &&
           fields.ndim == static_cast<int>(shape.size()) &&
           std::equal(shape.begin(), shape.end(), fields.shape) && has_strides_of(fields);
}

}  // namespace sycl_dnn
