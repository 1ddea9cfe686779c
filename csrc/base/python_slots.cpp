// SPDX-License-Identifier: Apache-2.0
#include "base/python_slots.hpp"

#include <structmember.h>

namespace sycl_dnn {

Py_ssize_t slot_offset(const py::object &type, const char *name) {
    const py::object descriptor = py::getattr(type, name, py::none());
    if (Py_TYPE(descriptor.ptr()) != &PyMemberDescr_Type) return 0;
    const PyMemberDef *member = reinterpret_cast<PyMemberDescrObject *>(descriptor.ptr())->d_member;
    return member->type == T_OBJECT_EX ? member->offset : 0;
}

py::object new_instance(const py::object &type) {
    auto *kind = reinterpret_cast<PyTypeObject *>(type.ptr());
    auto instance = py::reinterpret_steal<py::object>(kind->tp_alloc(kind, 0));
    if (!instance) throw py::error_already_set();
    return instance;
}

}  // namespace sycl_dnn
