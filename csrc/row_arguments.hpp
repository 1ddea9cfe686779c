// SPDX-License-Identifier: Apache-2.0
// The arguments of the rows of primitive_row.hpp: how each comes from Python, how it is checked and
// what the C++ constructor gets.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "primitive_desc.hpp"

namespace sycl_dnn {

// A descriptor that may be None: oneDNN's zero descriptor stands for an absent tensor.
struct opt {};
// The descriptor of the forward primitive that a backward one belongs to.
template <class Forward>
struct hint {};

// One number per spatial dimension that may be None: zeros, as many as there are strides.
struct opt_dims {};
// A number that is 0 unless given.
struct zero {};
// A list of factors that may be left out.
struct opt_factors {};

// How one argument comes from Python and becomes the C++ value.
template <class T>
struct arg {
    using type = T;
    static const T &unwrap(const T &value) { return value; }
    static py::arg name(const char *n) { return py::arg(n); }
};
template <>
struct arg<opt> {
    using type = std::optional<desc>;
    static desc unwrap(const type &value) { return value.value_or(desc()); }
    static py::arg_v name(const char *n) { return py::arg_v(n, py::none()); }
};
template <>
struct arg<opt_dims> {
    using type = std::optional<dims>;
    // None stays empty until `fill_spatial`.
    static dims unwrap(const type &value) { return value.value_or(dims()); }
    static py::arg_v name(const char *n) { return py::arg_v(n, py::none()); }
};
template <>
struct arg<zero> {
    using type = float;
    static float unwrap(float value) { return value; }
    static py::arg_v name(const char *n) { return py::arg_v(n, 0.f); }
};
template <>
struct arg<opt_factors> {
    using type = std::vector<float>;
    static const type &unwrap(const type &value) { return value; }
    static py::arg_v name(const char *n) { return py::arg_v(n, type()); }
};
template <>
struct arg<memory::data_type> {
    using type = memory::data_type;
    static type unwrap(type value) { return value; }
    static py::arg_v name(const char *n) { return py::arg_v(n, type::f32, "data_type.f32"); }
};
template <>
struct arg<dnnl::normalization_flags> {
    using type = dnnl::normalization_flags;
    static type unwrap(type value) { return value; }
    static py::arg_v name(const char *n) {
        return py::arg_v(n, type::none, "normalization_flags.none");
    }
};
template <>
struct arg<dnnl::rnn_flags> {
    using type = dnnl::rnn_flags;
    static type unwrap(type value) { return value; }
    static py::arg_v name(const char *n) { return py::arg_v(n, type::undef, "rnn_flags.undef"); }
};
template <class Forward>
struct arg<hint<Forward>> {
    using type = std::shared_ptr<PrimitiveDesc>;
    static typename Forward::primitive_desc unwrap(const dnnl::primitive_desc_base &forward) {
        return typename Forward::primitive_desc(forward.get());
    }
    static py::arg name(const char *n) { return std::move(py::arg(n).none(false)); }
};

// What Python gave for the arguments of a row, one reference each.
template <class... A>
using given_values = std::tuple<const typename arg<A>::type &...>;

// The same for a thread without the GIL: a descriptor may go on to its next implementation
// meanwhile.
template <class T>
const T &settled(const T &value) {
    return value;
}
inline dnnl::primitive_desc_base settled(const std::shared_ptr<PrimitiveDesc> &hint) {
    return hint->snapshot();
}
template <class... A>
using settled_values =
    std::tuple<decltype(settled(std::declval<const typename arg<A>::type &>()))...>;

template <class... A, size_t... I>
py::dict to_dict(const std::vector<std::string> &names, const given_values<A...> &given,
                 std::index_sequence<I...>) {
    py::dict dict;
    ((dict[names[I].c_str()] = py::cast(std::get<I>(given))), ...);
    return dict;
}

inline void check_length(const char *name, const std::string &argument, int ndims,
                         const dims &given) {
    if (ndims < 3 || given.size() <= static_cast<size_t>(ndims - 2)) return;
    throw invalid_arguments(
        std::string(name) + ": " + argument + " must have one entry per spatial dimension (" +
        std::to_string(ndims - 2) + "), got " + std::string(py::str(py::tuple(py::cast(given)))));
}
inline void check_length(const char *name, const std::string &argument, int ndims,
                         const std::optional<dims> &given) {
    if (given) check_length(name, argument, ndims, *given);
}
template <class T>
void check_length(const char *, const std::string &, int, const T &) {}

inline int rank(const desc &d) { return d.get_ndims(); }
template <class T>
int rank(const T &) {
    return 0;
}

// oneDNN refuses lists that are too short, but cuts longer ones off silently.
template <class... A, size_t... I>
void check_lengths(const char *name, const std::vector<std::string> &names,
                   const given_values<A...> &given, std::index_sequence<I...>) {
    int ndims = 0;
    ((ndims = ndims ? ndims : rank(std::get<I>(given))), ...);
    (check_length(name, names[I], ndims, std::get<I>(given)), ...);
}

// Gives an absent dilation as many zeros as `strides` has entries.
inline const dims &fill_spatial(const dims &strides, const dims &value, dims &storage) {
    if (!value.empty() || strides.empty()) return value;
    storage.assign(strides.size(), 0);
    return storage;
}
template <class T>
const T &fill_spatial(const dims &, const T &value, dims &) {
    return value;
}
inline dims first_dims() { return {}; }
template <class First, class... Rest>
dims first_dims(const First &first, const Rest &...rest) {
    if constexpr (std::is_same_v<First, dims>)
        return first;
    else
        return first_dims(rest...);
}

}  // namespace sycl_dnn
