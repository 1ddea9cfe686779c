// SPDX-License-Identifier: Apache-2.0
// The one template that binds every primitive: a row names the C++ class, the types of its
// constructor's arguments, their Python names and the execution arguments.
#pragma once

#include "new_descriptor.hpp"
#include "row_arguments.hpp"

namespace sycl_dnn {

// Calls `create(engine, attr, unwrapped arguments...)`.
template <class... A, class Create, size_t... I>
dnnl::primitive_desc_base create_from(const Create &create, const dnnl::engine &engine,
                                      const dnnl::primitive_attr &attr,
                                      const settled_values<A...> &given,
                                      std::index_sequence<I...>) {
    return create(engine, attr, arg<A>::unwrap(std::get<I>(given))...);
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
            const settled_values<A...> values(settled(a)...);
            const auto make = [&](const dnnl::primitive_attr &native) {
                return create_from<A...>(create, engine.handle, native, values, indices);
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
