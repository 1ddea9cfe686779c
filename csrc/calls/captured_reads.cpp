// SPDX-License-Identifier: Apache-2.0
#include "calls/captured_reads.hpp"

#include "base/gil.hpp"

namespace sycl_dnn {

namespace {

bool is_same(PyObject *current, PyObject *value) {
    return current == value ||
           (PyWeakref_CheckRefExact(value) && PyWeakref_GetObject(value) == current);
}

bool are_same(PyObject *current, PyObject *values) {
    if (!PyTuple_CheckExact(current) || !PyTuple_CheckExact(values)) return false;
    const Py_ssize_t n = PyTuple_GET_SIZE(values);
    if (PyTuple_GET_SIZE(current) != n) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
        if (!is_same(PyTuple_GET_ITEM(current, i), PyTuple_GET_ITEM(values, i))) return false;
    return true;
}

// Whether `tuple(container)` has these items, if that can be told without making the tuple.
bool has_items(PyObject *container, PyObject *values) {
    if (PyList_CheckExact(container)) {
        const Py_ssize_t n = PyTuple_GET_SIZE(values);
        if (PyList_GET_SIZE(container) != n) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (!is_same(PyList_GET_ITEM(container, i), PyTuple_GET_ITEM(values, i))) return false;
        return true;
    }
    const bool of_values = Py_IS_TYPE(container, &PyDictValues_Type);
    PyObject *const dict = of_values
                               ? reinterpret_cast<PyObject *>(
                                     reinterpret_cast<_PyDictViewObject *>(container)->dv_dict)
                               : container;
    if (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(values)) return false;
    Py_ssize_t position = 0, i = 0;
    for (PyObject *key, *content; PyDict_Next(dict, &position, &key, &content); ++i)
        if (!is_same(of_values ? content : key, PyTuple_GET_ITEM(values, i))) return false;
    return true;
}

// Calls a Python function; null if it raises an Exception, as reading a deleted name does.
py::object result_of(PyObject *function, PyObject *const *args, size_t n) {
    PyObject *result = or_park([&] { return PyObject_Vectorcall(function, args, n, nullptr); });
    if (!result && !PyErr_ExceptionMatches(PyExc_Exception)) throw py::error_already_set();
    if (!result) PyErr_Clear();
    return py::reinterpret_steal<py::object>(result);
}

}  // namespace

bool unchanged(const py::tuple &reads, py::handle same) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reads.ptr()); ++i) {
        PyObject *const read = PyTuple_GET_ITEM(reads.ptr(), i);
        PyObject *const argument = PyTuple_GET_ITEM(read, 1), *value = PyTuple_GET_ITEM(read, 2);
        const bool is_of_items =
            PyTuple_GET_ITEM(read, 0) == reinterpret_cast<PyObject *>(&PyTuple_Type);
        if (is_of_items && PyTuple_CheckExact(value) && has_items(argument, value)) continue;
        const py::object current = result_of(PyTuple_GET_ITEM(read, 0), &argument, 1);
        if (!current) return false;
        if (is_same(current.ptr(), value) || are_same(current.ptr(), value)) continue;
        PyObject *const both[] = {current.ptr(), value};
        const py::object answer = result_of(same.ptr(), both, 2);
        if (!answer || !answer.is(py::bool_(true))) return false;
    }
    return true;
}

}  // namespace sycl_dnn
