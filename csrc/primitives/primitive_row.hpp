// SPDX-License-Identifier: Apache-2.0
// The template that binds every primitive: a row specifies the C++ class, the types of its
// constructor's arguments, their Python names and the execution arguments.
#pragma once

#include "primitives/row_arguments.hpp"

namespace sycl_dnn {

// Creates a descriptor from the converted arguments of a row.
template <class... A>
using creator = dnnl::primitive_desc_base (*)(const dnnl::engine &, const dnnl::primitive_attr &,
                                              const typename arg<A>::value &...);

// Lives as long as the module.
template <class... A>
struct row_facts {
    const char *name, *signature;
    std::vector<std::string> names;
    creator<A...> create;
};

// Names and defaults of a row's arguments; with py::arg each row would be a different type.
struct row_names {
    const std::vector<std::string> &names;
    void (*const *add)(const char *name, py::detail::function_record *record);
};

template <class T>
void add_argument(const T &argument, py::detail::function_record *record) {
    py::detail::process_attribute<T>::init(argument, record);
}
template <class A>
void add_name(const char *name, py::detail::function_record *record) {
    add_argument(arg<A>::name(name), record);
}

// The function shared by all rows with these argument types.
template <class... A>
void def_function(py::module_ &m, const row_facts<A...> *facts) {
    static constexpr void (*add[])(const char *, py::detail::function_record *) = {&add_name<A>...};
    m.def(
        facts->name,
        [facts](const Engine &engine, const typename arg<A>::type &...a, const attr_ptr &attr,
                bool allow_empty) {
            row_call call(facts->name, facts->names);
            (call.take(a), ...);
            const auto create = [&](const dnnl::primitive_attr &native) {
                return facts->create(engine.handle, native, call.value(a)...);
            };
            return describe_or_raise(facts->name, facts->signature, engine, engine, call.parameters,
                                     attr, allow_empty, create);
        },
        row_names{facts->names, add},
        (std::string("Primitive descriptor of ") + facts->name + "; executes " + facts->signature)
            .c_str());
}

// Defines `name(engine, *, <parameters>, attr=None, allow_empty=False) -> PrimitiveDesc`.
// `create(engine, attr, values of the arguments...)` makes the descriptor.
template <class... A, class Create>
void def_row(py::module_ &m, const char *name, const char *parameters, const char *signature,
             Create) {
    auto names = words(parameters);
    if (names.size() != sizeof...(A))
        throw std::logic_error(std::string(name) + ": names and types differ in number");
    record(m, name, parameters, signature);
    const creator<erased_t<A>...> create =
        [](const dnnl::engine &engine, const dnnl::primitive_attr &attr,
           const typename arg<erased_t<A>>::value &...values) -> dnnl::primitive_desc_base {
        return Create()(engine, attr, erased<A>::restored(values)...);
    };
    def_function(m, new row_facts<erased_t<A>...>{name, signature, std::move(names), create});
}

// A row whose descriptor class takes its arguments in the order of the types.
template <class Primitive, class... A>
void row(py::module_ &m, const char *name, const char *parameters, const char *signature) {
    def_row<A...>(m, name, parameters, signature,
                  [](const dnnl::engine &engine, const dnnl::primitive_attr &attr,
                     const auto &...values) -> dnnl::primitive_desc_base {
                      return typename Primitive::primitive_desc(engine, values..., attr);
                  });
}

}  // namespace sycl_dnn

template <>
struct pybind11::detail::process_attribute<sycl_dnn::row_names>
    : pybind11::detail::process_attribute_default<sycl_dnn::row_names> {
    static void init(const sycl_dnn::row_names &row, function_record *record) {
        using sycl_dnn::add_argument;
        add_argument(pybind11::arg("engine"), record);
        add_argument(pybind11::kw_only(), record);
        for (size_t i = 0; i < row.names.size(); i++) row.add[i](row.names[i].c_str(), record);
        add_argument(pybind11::arg_v("attr", pybind11::none()), record);
        add_argument(pybind11::arg("allow_empty") = false, record);
    }
};
