// SPDX-License-Identifier: Apache-2.0
// Conversion of enumerators and their names from Python. Included by bind.hpp, so that every source
// file has the same casters.
#pragma once

#include <pybind11/pybind11.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

namespace sycl_dnn {

// The value of the enumerator `name` of the Python enumeration `cls`; flags also accept "a|b".
std::optional<long> value_of_name(pybind11::handle cls, pybind11::handle name);

}  // namespace sycl_dnn

namespace pybind11::detail {

template <class E>
class named_enum_caster {
    using exact = type_caster_enum_type<E>;

  public:
    PYBIND11_TYPE_CASTER(E, const_name<E>() + io_name(" | str", ""));
    bool load(handle source, bool) {
        const handle cls =
            global_internals_native_enum_type_map_get_item(std::type_index(typeid(E)));
        if (isinstance(source, cls)) {  // ``value`` would be a call of Python
            value = static_cast<E>(source.attr("_value_").template cast<long>());
            return true;
        }
        if (!PyUnicode_Check(source.ptr())) return false;
        const auto number = sycl_dnn::value_of_name(cls, source);
        if (number) value = static_cast<E>(*number);
        return number.has_value();
    }
    static handle cast(E source, return_value_policy policy, handle parent) {
        // pybind11 would call the enumeration each time, which is a call of Python.
        static auto *members = new std::unordered_map<E, PyObject *>;
        PyObject *&member = (*members)[source];
        if (!member) member = exact::cast(source, policy, parent).ptr();
        return handle(member).inc_ref();
    }
};

#define SYCL_DNN_NAMED(E)                                         \
    template <>                                                   \
    struct type_caster_enum_type_enabled<E> : std::false_type {}; \
    template <>                                                   \
    class type_caster<E> : public named_enum_caster<E> {}

SYCL_DNN_NAMED(dnnl::engine::kind);
SYCL_DNN_NAMED(dnnl::prop_kind);
SYCL_DNN_NAMED(dnnl::algorithm);
SYCL_DNN_NAMED(dnnl::normalization_flags);
SYCL_DNN_NAMED(dnnl::rnn_flags);
SYCL_DNN_NAMED(dnnl::rnn_direction);
SYCL_DNN_NAMED(dnnl::query);
SYCL_DNN_NAMED(dnnl::memory::data_type);
SYCL_DNN_NAMED(dnnl::scratchpad_mode);
SYCL_DNN_NAMED(dnnl::rounding_mode);
SYCL_DNN_NAMED(dnnl::quantization_mode);
SYCL_DNN_NAMED(dnnl::fpmath_mode);
SYCL_DNN_NAMED(dnnl::accumulation_mode);
SYCL_DNN_NAMED(dnnl::cpu_isa);
SYCL_DNN_NAMED(dnnl::cpu_isa_hints);
SYCL_DNN_NAMED(dnnl::stream::flags);
#undef SYCL_DNN_NAMED

}  // namespace pybind11::detail
