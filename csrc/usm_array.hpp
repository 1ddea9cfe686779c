// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bind.hpp"

namespace sycl_dnn {

// The fields of a dpnp.tensor.usm_ndarray, as dpnp/tensor/_usmarray.h declares them. Reading them
// makes no Python object, which is what asking for `shape`, `strides` and `dtype` costs.
struct UsmArray {
    PyObject_HEAD void *methods;
    char *data;  // the first element
    int ndim;
    Py_ssize_t *shape;
    Py_ssize_t *strides;  // in elements; null: row-major or column-major, see flags
    int typenum;
    int flags;
    PyObject *base;  // a dpctl.memory object

    static constexpr int c_contiguous = 1, writable = 4;

    // Asked where there are no strides.
    bool is_row_major() const { return flags & c_contiguous; }
};

// The fields of an array of exactly this class; null where the class is built otherwise: then
// Python must be asked.
const UsmArray *usm_array(py::handle array, const py::object &type);

}  // namespace sycl_dnn
