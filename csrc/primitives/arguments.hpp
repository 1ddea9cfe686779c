// SPDX-License-Identifier: Apache-2.0
// Execution arguments by name: DNNL_ARG_* in lower case without the prefix.
#pragma once

#include <string_view>

#include "base/bind.hpp"

namespace sycl_dnn {

// The id of an argument name, including composed ones (attr_scales_src, multiple_src_3,
// attr_post_op_0_src_1); -1 if there is none.
int argument_id(std::string_view name);
// The same, but raises InvalidArguments for an unknown name.
int require_argument_id(std::string_view name);

// An argument of attribute setters: a name, or a DNNL_ARG_* number.
struct argument {
    int id;
};
// The id in a Python int; refuses numbers beyond 32 bits.
int argument_number(PyObject *number);
// The name for messages; composed ids remain numbers.
py::object for_message(const argument &arg);

}  // namespace sycl_dnn

namespace pybind11::detail {

template <>
struct type_caster<sycl_dnn::argument> {
    PYBIND11_TYPE_CASTER(sycl_dnn::argument, const_name("str | int"));
    bool load(handle source, bool) {
        if (PyUnicode_Check(source.ptr()))
            value.id = sycl_dnn::require_argument_id(source.cast<std::string>());
        else if (PyLong_Check(source.ptr()))
            value.id = sycl_dnn::argument_number(source.ptr());
        else
            return false;
        return true;
    }
    static handle cast(const sycl_dnn::argument &argument, return_value_policy, handle) {
        return PyLong_FromLong(argument.id);
    }
};

}  // namespace pybind11::detail
