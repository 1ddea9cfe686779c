// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// The fields of a dpnp.tensor.usm_ndarray, as declared in dpnp/tensor/_usmarray.h. Reading them
// creates no Python objects, unlike the attributes `shape`, `strides` and `dtype`. dpnp may change
// them: `NEEDED` in sycl_dnn/_dpnp.py lists the struct, without which calls are slow.
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

    // For arrays without strides.
    bool is_row_major() const { return flags & c_contiguous; }
};

// The fields of an array of exactly this class; null if the struct does not match, so that its
// attributes must be read.
const UsmArray *usm_array(py::handle array, const py::object &type);

// Strides in elements.
std::vector<Py_ssize_t> strides_of(const UsmArray &fields);

// The properties of an array over a block of memory, starting at its first byte.
struct ArrayFacts {
    std::vector<Py_ssize_t> shape, strides;
    int typenum;
    bool is_row_major;

    // `strides` is None for a row-major array.
    ArrayFacts(const py::tuple &shape, const py::object &strides, const py::object &dtype);
    // Whether a writable array has these properties.
    bool are_those_of(const UsmArray &fields) const;

  private:
    bool has_strides_of(const UsmArray &fields) const;
};

}  // namespace sycl_dnn
