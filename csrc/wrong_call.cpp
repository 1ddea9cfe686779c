// SPDX-License-Identifier: Apache-2.0
// Calls that do not match a function's signature, for which pybind11 prints all overloads.
// sycl_dnn/onednn/wrong_call.py determines which argument is wrong. A valid call costs one jump.
#include <map>
#include <string>

#include "base/bind.hpp"

namespace sycl_dnn {

namespace {

// Either of the two forms in which pybind11 3 passes its functions to Python.
using packed_call = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
using tuple_call = PyObject *(*)(PyObject *, PyObject *, PyObject *);

// pybind11's single entry point of all its functions: a valid call costs no lookup.
PyCFunction original = nullptr;

// The functions by the object that Python passes as `self`. Never destroyed, like modules.
std::map<PyObject *, PyObject *> &functions() {
    static auto *instance = new std::map<PyObject *, PyObject *>;
    return *instance;
}

template <class Call>
Call as(PyCFunction function) {
    return reinterpret_cast<Call>(reinterpret_cast<void (*)()>(function));
}

bool is_mismatch(const py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError)) return false;
    const std::string text = py::str(error.value());
    return text.find("(): incompatible ") != text.npos;
}

// Replaces the current error if it is pybind11's and Python has a better one.
void explain(PyObject *self, const py::tuple &args, const py::dict &named) {
    py::error_already_set error;
    if (!is_mismatch(error)) return error.restore();
    try {
        const auto explanation =
            py::module_::import("sycl_dnn.onednn.wrong_call").attr("explanation");
        const py::object better =
            explanation(py::reinterpret_borrow<py::object>(functions().at(self)), args, named);
        if (better.is_none()) return error.restore();
        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(better.ptr())), better.ptr());
    } catch (py::error_already_set &) {
        error.restore();
    }
}

PyObject *call_packed(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyObject *result = as<packed_call>(original)(self, args, n, names);
    if (result) return result;
    const Py_ssize_t count = PyVectorcall_NARGS(n);
    py::tuple positional(count);
    for (Py_ssize_t i = 0; i < count; ++i)
        positional[i] = py::reinterpret_borrow<py::object>(args[i]);
    py::dict named;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
        named[PyTuple_GET_ITEM(names, i)] = py::reinterpret_borrow<py::object>(args[count + i]);
    explain(self, positional, named);
    return nullptr;
}

PyObject *call_tuple(PyObject *self, PyObject *args, PyObject *named) {
    PyObject *result = as<tuple_call>(original)(self, args, named);
    if (result) return result;
    explain(self, py::reinterpret_borrow<py::tuple>(args),
            named ? py::reinterpret_borrow<py::dict>(named) : py::dict());
    return nullptr;
}

template <class Call>
PyCFunction entry(Call call) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
}

void watch(PyObject *function) {
    PyMethodDef *def = reinterpret_cast<PyCFunctionObject *>(function)->m_ml;
    PyObject *self = PyCFunction_GET_SELF(function);
    const bool is_packed = def->ml_flags == (METH_FASTCALL | METH_KEYWORDS);
    if (!is_packed && def->ml_flags != (METH_VARARGS | METH_KEYWORDS)) return;
    if (!original) original = def->ml_meth;
    if (!self || def->ml_meth != original) return;  // already wrapped, or not pybind11's
    Py_INCREF(function);
    functions()[self] = function;
    def->ml_meth = is_packed ? entry(&call_packed) : entry(&call_tuple);
}

// The function inside a method, a static method or a property setter.
py::object unwrapped(const py::object &member) {
    if (PyInstanceMethod_Check(member.ptr()))
        return py::reinterpret_borrow<py::object>(PyInstanceMethod_GET_FUNCTION(member.ptr()));
    if (py::hasattr(member, "__func__")) return member.attr("__func__");
    if (PyObject_TypeCheck(member.ptr(), &PyProperty_Type)) return member.attr("fset");
    return member;
}

void watch_all(const py::object &owner) {
    for (const auto &item : py::dict(owner.attr("__dict__"))) {
        const auto member = py::reinterpret_borrow<py::object>(item.second);
        const py::object function = unwrapped(member);
        if (PyCFunction_Check(function.ptr())) watch(function.ptr());
    }
}

}  // namespace

void explain_wrong_calls(py::module_ &m) {
    const py::object pybind_type = py::type::of(py::type::of<desc>());
    for (const auto &item : py::dict(m.attr("__dict__")))
        if (py::isinstance(item.second, pybind_type))
            watch_all(py::reinterpret_borrow<py::object>(item.second));
    watch_all(m);
}

}  // namespace sycl_dnn
