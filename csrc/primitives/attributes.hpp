// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "base/bind.hpp"
#include "memory/memory_desc.hpp"

namespace sycl_dnn {

// Calls on an object in order: for repr, equality, pickling and replay.
using call_list = py::list;
inline call_list copy_of(const call_list &calls) { return calls.attr("copy")(); }

struct PostOps {
    dnnl::post_ops handle;
    call_list calls;
};
std::shared_ptr<PostOps> copy_of(const PostOps &ops);

// Scales, zero points or precomputed sums of one argument, for which oneDNN has no getter.
struct quantization {
    int mask;
    dims groups;
    memory::data_type type;
    bool on_host;
    bool is_output;  // oneDNN computes the scale itself (dynamic modes)
};

struct dropout {
    desc mask;
    memory::data_type seed_type;
    bool use_offset, on_host;
};

struct PrimitiveAttr {
    dnnl::primitive_attr handle;
    call_list calls;
    std::map<int, quantization> scales, zero_points, reductions;
    std::unique_ptr<dropout> drop;
    std::map<int, dnnl::rounding_mode> rounding;
    bool library_scratchpad = false;

    PrimitiveAttr();
    PrimitiveAttr(const PrimitiveAttr &other);
};

using attr_class = py::class_<PrimitiveAttr, std::shared_ptr<PrimitiveAttr>>;

py::object replay(py::object target, const py::iterable &calls);
std::string describe(const char *name, const call_list &calls);

// A copy of the calls, for callers that may modify it.
py::tuple copied_calls(const call_list &calls);
// Raises oneDNN's error with the refused values.
[[noreturn]] void refuse_setting(const char *setter, const py::tuple &args,
                                 const dnnl::error &error);

// A value in recorded form: lists become tuples, which are immutable.
template <class T>
py::object recorded(const T &value) {
    const py::object object = py::cast(value);
    return py::isinstance<py::list>(object) ? py::object(py::tuple(object)) : object;
}
template <class T>
py::object for_message(const T &value) {
    return recorded(value);
}

// Binds a setter that also records the call.
template <class Owner, class... A, class Class, class... Extra>
void def_recorded(Class &c, const char *name, void (*apply)(Owner &, A...), const Extra &...extra) {
    c.def(
        name,
        [name, apply](Owner &self, A... a) {
            try {
                apply(self, a...);
            } catch (const dnnl::error &error) {
                refuse_setting(name, py::make_tuple(for_message(a)...), error);
            }
            self.calls.append(py::make_tuple(name, py::make_tuple(recorded(a)...)));
        },
        extra...);
}

// Equality, repr and pickling based on the recorded calls.
template <class Owner, class Class>
void def_from_calls(Class &c, const char *name) {
    c.def_property_readonly(
         "calls", [](const Owner &self) { return copied_calls(self.calls); },
         "The settings so far: (method, arguments) in order.")
        .def("__eq__",
             [](const Owner &a, const py::object &b) -> py::object {
                 if (!py::isinstance<Owner>(b))
                     return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 return py::bool_(a.calls.equal(b.cast<const Owner &>().calls));
             })
        .def("__hash__", [](const Owner &self) { return self.calls.size(); })
        .def("__repr__", [name](const Owner &self) { return describe(name, self.calls); })
        .def("__reduce__", [](const py::object &self) {
            const auto maker = py::module_::import("sycl_dnn._core").attr("_replayed");
            return py::make_tuple(maker, py::make_tuple(py::type::of(self), self.attr("calls")));
        });
}

}  // namespace sycl_dnn
