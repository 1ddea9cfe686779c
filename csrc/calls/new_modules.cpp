// SPDX-License-Identifier: Apache-2.0
#include "calls/new_modules.hpp"

namespace sycl_dnn {

namespace {

// The fields of a Node.
enum field { kind, fixed, makers, parameters, buffers, modules, frozen, transient };

// The values that the numbers in a dict stand for, by name.
py::dict chosen(py::handle numbers, const py::list &values) {
    py::dict result;
    PyObject *name, *number;
    for (Py_ssize_t i = 0; PyDict_Next(numbers.ptr(), &i, &name, &number);)
        result[name] = number == Py_None ? py::object(py::none())
                                         : py::object(values[PyLong_AsSize_t(number)]);
    return result;
}

// An object of this class with these attributes, without calls of the class's own methods.
py::object instance_of(const py::object &make, py::handle type, const py::dict &attributes) {
    py::object instance = make(type);
    if (PyObject_GenericSetDict(instance.ptr(), attributes.ptr(), nullptr) < 0)
        throw py::error_already_set();
    return instance;
}

}  // namespace

py::list new_modules(const py::tuple &nodes, const py::list &leaves, bool is_traced) {
    static const char *const groups[] = {"_parameters", "_buffers", "_modules"};
    const py::handle object(reinterpret_cast<PyObject *>(&PyBaseObject_Type));
    const py::object make = object.attr("__new__");
    std::vector<py::dict> attributes;
    py::list made;
    for (const auto &node : nodes) {
        const auto fields = py::reinterpret_borrow<py::tuple>(node);
        attributes.push_back(
            py::reinterpret_steal<py::dict>(PyDict_Copy(py::object(fields[fixed]).ptr())));
        made.append(instance_of(make, fields[kind], attributes.back()));
    }
    for (size_t i = 0; i < attributes.size(); ++i) {
        const auto fields = py::reinterpret_borrow<py::tuple>(nodes[i]);
        const py::dict &attrs = attributes[i];
        for (size_t group = 0; group < 3; ++group)
            attrs[groups[group]] = chosen(fields[parameters + group], group == 2 ? made : leaves);
        attrs["_frozen"] = fields[frozen];
        attrs["_transient"] = fields[transient];
        attrs["_lent"] = py::dict();
        if (is_traced) attrs["_is_traced"] = true;
    }
    return made;
}

}  // namespace sycl_dnn
