// SPDX-License-Identifier: Apache-2.0
// Instances of Python classes with `__slots__`, created and read without name lookups.
#pragma once

#include "base/bind.hpp"

namespace sycl_dnn {

// The offset of a slot in instances of a class; 0 if there is no such slot.
Py_ssize_t slot_offset(const py::object &type, const char *name);

inline PyObject *&slot_at(py::handle object, Py_ssize_t offset) {
    return *reinterpret_cast<PyObject **>(reinterpret_cast<char *>(object.ptr()) + offset);
}

// An instance created without calling the class; its slots are empty.
py::object new_instance(const py::object &type);

}  // namespace sycl_dnn
