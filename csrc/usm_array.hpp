// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bind.hpp"

namespace sycl_dnn {

// The fields of a dpnp.tensor.usm_ndarray, as dpnp/tensor/_usmarray.h declares them. Reading them
// makes no Python object, which is what asking for `shape`, `strides` and `dtype` costs. dpnp may
// change them: `NEEDED` of sycl_dnn/_dpnp.py lists the struct, and without it calls are slow.
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

// Strides in elements.
std::vector<Py_ssize_t> strides_of(const UsmArray &fields);

// What an array of a row of memory is like, from its first byte on.
struct ArrayFacts {
    std::vector<Py_ssize_t> shape, strides;
    int typenum;
    bool is_row_major;

    // `strides` is None for a row-major array.
    ArrayFacts(const py::tuple &shape, const py::object &strides, const py::object &dtype);
    // Whether a writable array is like this.
    bool are_those_of(const UsmArray &fields) const;

  private:
    bool has_strides_of(const UsmArray &fields) const;
};

}  // namespace sycl_dnn
