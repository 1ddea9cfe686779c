// SPDX-License-Identifier: Apache-2.0
// Methods that bypass pybind11's dispatcher, which takes as long as finding a plan.
#pragma once

#include <cxxabi.h>

#include "base/bind.hpp"

namespace sycl_dnn {

// The C++ object of an instance of a pybind11 class.
template <class T>
T &native(PyObject *object) {
    static const py::handle type = py::type::handle_of<T>();  // runs no Python code
    auto *instance = reinterpret_cast<py::detail::instance *>(object);
    if (py::type::handle_of(object).is(type) && instance->simple_layout)
        return *static_cast<T *>(instance->simple_value_holder[0]);
    return py::handle(object).cast<T &>();
}

template <class T, Py_ssize_t n, py::object (*method)(T &, PyObject *const *)>
PyObject *call_fast(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    if (n_args != n) {
        PyErr_Format(PyExc_TypeError, "takes %zd arguments, got %zd", n, n_args);
        return nullptr;
    }
    try {
        return method(native<T>(self), args).release().ptr();
    } catch (abi::__forced_unwind &) {
        throw;
    } catch (py::error_already_set &error) {
        error.restore();
    } catch (...) {
        py::detail::try_translate_exceptions();
    }
    return nullptr;
}

// Adds `method` with `n` positional arguments to a class. `text` starts with its signature.
template <class T, Py_ssize_t n, py::object (*method)(T &, PyObject *const *)>
void add_fast_method(const py::handle &type, const char *name, const char *text) {
    static PyMethodDef row{
        name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_fast<T, n, method>)),
        METH_FASTCALL, text};
    PyObject *descriptor = PyDescr_NewMethod(reinterpret_cast<PyTypeObject *>(type.ptr()), &row);
    if (!descriptor) throw py::error_already_set();
    py::setattr(type, name, py::reinterpret_steal<py::object>(descriptor));
}

}  // namespace sycl_dnn
