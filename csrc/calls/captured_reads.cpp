// SPDX-License-Identifier: Apache-2.0
#include "calls/captured_reads.hpp"

#include "base/gil.hpp"

namespace sycl_dnn {

namespace {

bool is_same(PyObject *now, PyObject *value) {
    return now == value || (PyWeakref_CheckRefExact(value) && PyWeakref_GetObject(value) == now);
}

bool are_same(PyObject *now, PyObject *values) {
    if (!PyTuple_CheckExact(now) || !PyTuple_CheckExact(values)) return false;
    const Py_ssize_t n = PyTuple_GET_SIZE(values);
    if (PyTuple_GET_SIZE(now) != n) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
        if (!is_same(PyTuple_GET_ITEM(now, i), PyTuple_GET_ITEM(values, i))) return false;
    return true;
}

// Calls a Python function; null if it raises what reading a name that is gone may raise.
py::object result_of(PyObject *function, PyObject *const *args, size_t n) {
    PyObject *made = or_park([&] { return PyObject_Vectorcall(function, args, n, nullptr); });
    if (!made && !PyErr_ExceptionMatches(PyExc_Exception)) throw py::error_already_set();
    if (!made) PyErr_Clear();
    return py::reinterpret_steal<py::object>(made);
}

}  // namespace

bool unchanged(const py::tuple &reads, py::handle same) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reads.ptr()); ++i) {
        PyObject *const read = PyTuple_GET_ITEM(reads.ptr(), i);
        PyObject *const argument = PyTuple_GET_ITEM(read, 1), *value = PyTuple_GET_ITEM(read, 2);
        const py::object now = result_of(PyTuple_GET_ITEM(read, 0), &argument, 1);
        if (!now) return false;
        if (is_same(now.ptr(), value) || are_same(now.ptr(), value)) continue;
        PyObject *const both[] = {now.ptr(), value};
        const py::object answer = result_of(same.ptr(), both, 2);
        if (!answer || !answer.is(py::bool_(true))) return false;
    }
    return true;
}

}  // namespace sycl_dnn
