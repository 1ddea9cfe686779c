// SPDX-License-Identifier: Apache-2.0
// The one template that binds every primitive: a row names the C++ class, the types of its
// constructor's arguments, their Python names and the execution arguments.
#pragma once

#include <optional>
#include <sstream>
#include <tuple>
#include <vector>

#include "errors.hpp"
#include "fork.hpp"
#include "primitive_desc.hpp"
#include "quantization.hpp"
#include "refusals.hpp"

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
    static typename Forward::primitive_desc unwrap(const type &value) {
        return typename Forward::primitive_desc(value->handle.get());
    }
    static py::arg name(const char *n) { return std::move(py::arg(n).none(false)); }
};

using attr_ptr = std::shared_ptr<PrimitiveAttr>;

// Tells sycl_dnn/onednn/_faults.py of a new descriptor, if its row is known for wrong results.
void warn_of_faults(const char *name, const py::object &pd);

inline std::vector<std::string> words(const char *text) {
    std::istringstream stream(text);
    std::vector<std::string> found;
    for (std::string word; stream >> word;) found.push_back(word);
    return found;
}

// Names and execution arguments of all rows, for tests and documentation: _core.ROWS.
inline void record(py::module_ &m, const char *name, const char *parameters,
                   const char *signature) {
    if (!py::hasattr(m, "ROWS")) m.attr("ROWS") = py::dict();
    m.attr("ROWS")[name] = py::make_tuple(parameters, signature);
}

// Runs `create` without the GIL and wraps its result; what oneDNN refuses becomes an error that
// knows the arguments, or None if `allow_empty`.
template <class Create>
py::object describe_or_raise(const char *name, const char *signature, const Engine &engine,
                             const Engine &dst_engine, const py::dict &parameters,
                             const attr_ptr &attr, bool allow_empty, Create create) {
    refuse_after_fork();
    auto fixed = std::make_shared<const PrimitiveAttr>(attr ? *attr : PrimitiveAttr());
    check_masks(name, parameters, *fixed);
    refuse_shapes(name, engine, parameters);
    dnnl::primitive_desc_base made;
    try {
        py::gil_scoped_release nogil;
        made = create(fixed->handle);
    } catch (const dnnl::error &e) {
        if (allow_empty && e.status == dnnl_unimplemented) return py::none();
        raise_creation_error(e, name, parameters, py::cast(engine),
                             py::cast(std::const_pointer_cast<PrimitiveAttr>(fixed)));
    }
    skip_fatal(name, parameters, made);
    const auto described = std::make_shared<PrimitiveDesc>(
        PrimitiveDesc{made, name, signature, engine, dst_engine, fixed, parameters});
    refuse_unsafe(*described);
    const py::object pd = py::cast(described);
    warn_of_faults(name, pd);
    return pd;
}

// What Python gave for the arguments of a row, one reference each.
template <class... A>
using given_values = std::tuple<const typename arg<A>::type &...>;

template <class... A, class Create, size_t... I>
dnnl::primitive_desc_base create_from(const Create &create, const dnnl::engine &engine,
                                      const dnnl::primitive_attr &attr,
                                      const given_values<A...> &given, std::index_sequence<I...>) {
    return create(engine, attr, arg<A>::unwrap(std::get<I>(given))...);
}

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

template <class... A, class Create, size_t... I>
void def_row_indexed(py::module_ &m, const char *name, const std::vector<std::string> &names,
                     const char *signature, Create create, std::index_sequence<I...> indices) {
    m.def(
        name,
        [=](const Engine &engine, const typename arg<A>::type &...a, const attr_ptr &attr,
            bool allow_empty) {
            const given_values<A...> given(a...);
            check_lengths<A...>(name, names, given, indices);
            const auto make = [&](const dnnl::primitive_attr &native) {
                return create_from<A...>(create, engine.handle, native, given, indices);
            };
            return describe_or_raise(name, signature, engine, engine,
                                     to_dict<A...>(names, given, indices), attr, allow_empty, make);
        },
        py::arg("engine"), py::kw_only(), arg<A>::name(names[I].c_str())...,
        py::arg_v("attr", py::none()), py::arg("allow_empty") = false,
        (std::string("Primitive descriptor of ") + name + "; executes " + signature).c_str());
}

// Defines `name(engine, *, <parameters>, attr=None, allow_empty=False) -> PrimitiveDesc`.
// `create(engine, attr, unwrapped arguments...)` makes the descriptor.
template <class... A, class Create>
void def_row(py::module_ &m, const char *name, const char *parameters, const char *signature,
             Create create) {
    const auto names = words(parameters);
    if (names.size() != sizeof...(A))
        throw std::logic_error(std::string(name) + ": names and types differ in number");
    record(m, name, parameters, signature);
    def_row_indexed<A...>(m, name, names, signature, create, std::index_sequence_for<A...>{});
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

// A row whose descriptor class takes its arguments in the order of the types.
template <class Primitive, class... A>
void row(py::module_ &m, const char *name, const char *parameters, const char *signature) {
    def_row<A...>(m, name, parameters, signature,
                  [](const dnnl::engine &engine, const dnnl::primitive_attr &attr,
                     const auto &...a) -> dnnl::primitive_desc_base {
                      dims zeros;
                      const dims strides = first_dims(a...);
                      return typename Primitive::primitive_desc(
                          engine, fill_spatial(strides, a, zeros)..., attr);
                  });
}

}  // namespace sycl_dnn
