// SPDX-License-Identifier: Apache-2.0
// One call of a program.
#include "program/run_program.hpp"

#include "base/dpctl_api.hpp"

namespace sycl_dnn {

char *address_of(py::handle array) {
    static PyObject *const pointer = PyUnicode_InternFromString("_pointer");
    const auto address = py::reinterpret_steal<py::object>(PyObject_GetAttr(array.ptr(), pointer));
    if (!address) throw py::error_already_set();
    void *value = PyLong_AsVoidPtr(address.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    return static_cast<char *>(value);
}

Program::arguments arguments_of(const Program &p, const py::list &arrays) {
    const size_t n = arrays.size();
    if (n != p.n_arguments)
        throw invalid_arguments("Program: arrays must be " + std::to_string(p.n_arguments) +
                                " in number, got " + std::to_string(n));
    Program::arguments result(n);
    for (size_t i = 0; i < n; ++i) result[i] = address_of(PyList_GET_ITEM(arrays.ptr(), i));
    return result;
}

py::object run_program(const py::object &self, const Stream &stream, const py::list &arrays,
                       const py::object &depends) {
    Program &p = self.cast<Program &>();
    const auto arguments = arguments_of(p, arrays);
    std::vector<sycl::event> events;
    append_events(depends, events);
    const OrderedCall order(stream, events);
    p.before_run(stream, events);
    return submit_program(p, stream, order, {self, arrays},
                          [&](sycl::event &last) { p.submit(stream, arguments, events, last); });
}

py::object run_over(Program &p, const Stream &stream, const Program::arguments &arguments,
                    owner_list &&owners) {
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    p.before_run(stream, events);
    return submit_program(p, stream, order, std::move(owners),
                          [&](sycl::event &last) { p.submit(stream, arguments, events, last); });
}

}  // namespace sycl_dnn
