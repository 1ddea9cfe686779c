// SPDX-License-Identifier: Apache-2.0
// Arguments of the rows in primitive_row.hpp: how each is converted from Python, validated and
// passed to the C++ constructor. Code that depends on a single type is out of line, so that it is
// not repeated in some fifty rows with up to thirty arguments.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "primitives/new_descriptor.hpp"

namespace sycl_dnn {

// A descriptor that may be None: oneDNN's zero descriptor means an absent tensor.
struct opt {};
// The descriptor of the matching forward primitive.
template <class Forward>
struct hint {};
// The same for code that does not depend on its class.
struct any_hint {};

// Optional numbers, one per spatial dimension: as many zeros as there are strides by default.
struct opt_dims {};
// A number that defaults to 0.
struct zero {};
// An optional list of factors.
struct opt_factors {};

// The type of an argument in Python (`type`), and as passed to a creator (`value`).
template <class T>
struct arg {
    using type = T;
    using value = T;
    static py::arg name(const char *n) { return py::arg(n); }
};
template <>
struct arg<opt> {
    using type = std::optional<desc>;
    using value = desc;
    static py::arg_v name(const char *n) { return py::arg_v(n, py::none()); }
};
template <>
struct arg<opt_dims> {
    using type = std::optional<dims>;
    using value = dims;
    static py::arg_v name(const char *n) { return py::arg_v(n, py::none()); }
};
template <>
struct arg<zero> {
    using type = float;
    using value = float;
    static py::arg_v name(const char *n) { return py::arg_v(n, 0.f); }
};
template <>
struct arg<opt_factors> {
    using type = std::vector<float>;
    using value = type;
    static py::arg_v name(const char *n) { return py::arg_v(n, type()); }
};
template <>
struct arg<memory::data_type> {
    using type = memory::data_type;
    using value = type;
    static py::arg_v name(const char *n) { return py::arg_v(n, type::f32, "data_type.f32"); }
};
template <>
struct arg<dnnl::normalization_flags> {
    using type = dnnl::normalization_flags;
    using value = type;
    static py::arg_v name(const char *n) {
        return py::arg_v(n, type::none, "normalization_flags.none");
    }
};
template <>
struct arg<dnnl::rnn_flags> {
    using type = dnnl::rnn_flags;
    using value = type;
    static py::arg_v name(const char *n) { return py::arg_v(n, type::undef, "rnn_flags.undef"); }
};
template <>
struct arg<any_hint> {
    using type = std::shared_ptr<PrimitiveDesc>;
    using value = dnnl::primitive_desc_base;
    static py::arg name(const char *n) { return std::move(py::arg(n).none(false)); }
};

// Rows that differ only in the class of their hint share one function.
template <class T>
struct erased {
    using type = T;
    static const typename arg<T>::value &restored(const typename arg<T>::value &value) {
        return value;
    }
};
template <class Forward>
struct erased<hint<Forward>> {
    using type = any_hint;
    static typename Forward::primitive_desc restored(const dnnl::primitive_desc_base &forward) {
        return typename Forward::primitive_desc(forward.get());
    }
};
template <class T>
using erased_t = typename erased<T>::type;

inline void check_length(const char *name, const std::string &argument, int ndims,
                         const dims &values) {
    if (ndims < 3 || values.size() <= static_cast<size_t>(ndims - 2)) return;
    throw invalid_arguments(
        std::string(name) + ": " + argument + " must have one entry per spatial dimension (" +
        std::to_string(ndims - 2) + "), got " + std::string(py::str(py::tuple(py::cast(values)))));
}

// The arguments of one call of a row: `take` each in order, then read the `value` of each.
class row_call {
  public:
    row_call(const char *name, const std::vector<std::string> &names) : name(name), names(names) {}

    template <class T>
    [[gnu::noinline]] void take(const T &value) {
        const std::string &argument = names[count++];
        if constexpr (std::is_same_v<T, desc>) ndims = ndims ? ndims : value.get_ndims();
        // oneDNN refuses lists that are too short, but silently truncates longer ones.
        if constexpr (std::is_same_v<T, dims>) take_lengths(argument, &value);
        if constexpr (std::is_same_v<T, std::optional<dims>>)
            take_lengths(argument, value ? &*value : nullptr);
        // A descriptor may advance to its next implementation while the GIL is released.
        if constexpr (std::is_same_v<T, std::shared_ptr<PrimitiveDesc>>)
            forward = value->snapshot();
        parameters[argument.c_str()] = py::cast(value);
    }

    template <class T>
    const T &value(const T &argument) const {
        return argument;
    }
    const desc &value(const std::optional<desc> &argument) const {
        return argument ? *argument : absent;
    }
    const dims &value(const dims &argument) const { return argument.empty() ? zeros : argument; }
    const dims &value(const std::optional<dims> &argument) const {
        return argument ? value(*argument) : zeros;
    }
    const dnnl::primitive_desc_base &value(const std::shared_ptr<PrimitiveDesc> &) const {
        return forward;
    }

    py::dict parameters;

  private:
    // The first list is `strides`; absent lists get as many zeros.
    void take_lengths(const std::string &argument, const dims *lengths) {
        if (lengths) check_length(name, argument, ndims, *lengths);
        if (lengths && !std::exchange(has_strides, true)) zeros.assign(lengths->size(), 0);
    }

    const char *name;
    const std::vector<std::string> &names;
    size_t count = 0;
    int ndims = 0;
    bool has_strides = false;
    desc absent;
    dims zeros;
    dnnl::primitive_desc_base forward;
};

}  // namespace sycl_dnn
