// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/bind.hpp"

namespace sycl_dnn {

// A format tag from Python: a member of onednn.format_tag, or its name. The enum has some 1,600
// members, so Python builds it only on first use, and C++ accepts names too.
struct format_tag {
    dnnl::memory::format_tag value;
};

std::optional<int> format_tag_of(const std::string &name);
std::string enum_name(const py::object &member);
template <class E>
std::string enum_name(E value) {
    return enum_name(py::cast(value));
}

// The enumerator given for `argument`: a member of one of _core's enumerations, or its name.
py::object member_of(const char *enumeration, const py::object &value, const char *argument);
template <class E>
E enum_of(const char *enumeration, const py::object &value, const char *argument) {
    return member_of(enumeration, value, argument).cast<E>();
}

}  // namespace sycl_dnn

namespace pybind11::detail {

template <>
struct type_caster<sycl_dnn::format_tag> {
    PYBIND11_TYPE_CASTER(sycl_dnn::format_tag, const_name("sycl_dnn.onednn.format_tag | str"));
    bool load(handle source, bool) {
        int number = 0;
        if (PyUnicode_Check(source.ptr())) {
            auto tag = sycl_dnn::format_tag_of(source.cast<std::string>());
            if (!tag)
                throw sycl_dnn::invalid_arguments("format_tag must be the name of a tag, got '" +
                                                  source.cast<std::string>() + "'");
            number = *tag;
        } else if (PyLong_Check(source.ptr()) &&
                   std::string(Py_TYPE(source.ptr())->tp_name) == "format_tag") {
            number = source.cast<int>();
        } else {
            return false;
        }
        value.value = static_cast<dnnl::memory::format_tag>(number);
        return true;
    }
    static handle cast(const sycl_dnn::format_tag &tag, return_value_policy, handle) {
        return PyLong_FromLong(static_cast<long>(tag.value));
    }
};

}  // namespace pybind11::detail
