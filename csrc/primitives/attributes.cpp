// SPDX-License-Identifier: Apache-2.0
#include "primitives/attributes.hpp"

#include "base/errors.hpp"
#include "primitives/arguments.hpp"
#include "primitives/quantization.hpp"

namespace sycl_dnn {

using dt = memory::data_type;

// oneDNN's own scratchpads limit a primitive to one execution at a time, so primitives always use
// an external one: the caller's, or one from the pool.
PrimitiveAttr::PrimitiveAttr() { handle.set_scratchpad_mode(dnnl::scratchpad_mode::user); }

PrimitiveAttr::PrimitiveAttr(const PrimitiveAttr &other)
    : calls(copy_of(other.calls)),
      scales(other.scales),
      zero_points(other.zero_points),
      reductions(other.reductions),
      drop(other.drop ? new dropout(*other.drop) : nullptr),
      rounding(other.rounding),
      library_scratchpad(other.library_scratchpad) {
    dnnl_primitive_attr_t copy;
    dnnl::error::wrap_c_api(dnnl_primitive_attr_clone(&copy, other.handle.get()),
                            "could not clone primitive attributes");
    handle.reset(copy);
}

py::object replay(py::object target, const py::iterable &calls) {
    for (const auto &call : calls) {
        const auto pair = py::reinterpret_borrow<py::tuple>(call);
        target.attr(pair[0])(*py::reinterpret_borrow<py::tuple>(pair[1]));
    }
    return target;
}

// Post-ops are the only mutable arguments, and recorded calls must not change.
py::tuple copied_calls(const call_list &calls) {
    py::list copies;
    for (const auto &call : calls) {
        const auto pair = py::reinterpret_borrow<py::tuple>(call);
        py::list arguments;
        for (const auto &value : py::reinterpret_borrow<py::tuple>(pair[1]))
            arguments.append(py::isinstance<PostOps>(value)
                                 ? py::cast(copy_of(value.cast<const PostOps &>()))
                                 : py::reinterpret_borrow<py::object>(value));
        copies.append(py::make_tuple(pair[0], py::tuple(arguments)));
    }
    return py::tuple(copies);
}

void refuse_setting(const char *setter, const py::tuple &args, const dnnl::error &error) {
    std::string values;
    for (const auto &value : args)
        values +=
            (values.empty() ? "" : ", ") + std::string(py::str(py::getattr(value, "name", value)));
    raise_status(error.status,
                 std::string(setter) + ": " + error.message + ", got (" + values + ")");
}

std::string describe(const char *name, const call_list &calls) {
    std::string text = std::string(name) + "(";
    bool first = true;
    for (const auto &call : calls) {
        const auto pair = py::reinterpret_borrow<py::tuple>(call);
        text += (first ? "" : ", ") + std::string(py::str(pair[0])) + std::string(py::str(pair[1]));
        first = false;
    }
    return text + ")";
}

namespace {

void set_scratchpad_mode(PrimitiveAttr &a, dnnl::scratchpad_mode mode) {
    a.library_scratchpad = mode == dnnl::scratchpad_mode::library;
}
void set_fpmath_mode(PrimitiveAttr &a, dnnl::fpmath_mode mode, bool apply_to_int) {
    a.handle.set_fpmath_mode(mode, apply_to_int);
}
void set_accumulation_mode(PrimitiveAttr &a, dnnl::accumulation_mode mode) {
    a.handle.set_accumulation_mode(mode);
}
void set_deterministic(PrimitiveAttr &a, bool value) { a.handle.set_deterministic(value); }

void set_rounding_mode(PrimitiveAttr &a, argument arg, dnnl::rounding_mode mode) {
    a.handle.set_rounding_mode(arg.id, mode);
    a.rounding[arg.id] = mode;
}
void set_dropout(PrimitiveAttr &a, const std::optional<desc> &mask_desc, dt seed_dt,
                 bool use_offset, bool use_host_scalars) {
    const desc mask = mask_desc.value_or(desc());
    if (!mask.is_zero() && mask.get_data_type() != dt::u8)
        throw invalid_arguments("set_dropout: mask_desc must be u8, got " + describe(mask));
    a.handle.set_dropout(mask, seed_dt, use_offset, use_host_scalars);
    a.drop.reset(new dropout{mask, seed_dt, use_offset, use_host_scalars});
}

void set_post_ops(PrimitiveAttr &a, const PostOps &ops) { a.handle.set_post_ops(ops.handle); }
void bind_modes(attr_class &c) {
    def_recorded(c, "set_scratchpad_mode", &set_scratchpad_mode, py::arg("mode"),
                 "user: execute accepts a scratchpad argument, and uses a pool without one. "
                 "library: always from the pool.");
    def_recorded(
        c, "set_fpmath_mode", &set_fpmath_mode, py::arg("mode"), py::arg("apply_to_int") = false,
        "Allow f32 inputs to be computed in a smaller type; apply_to_int also decompresses "
        "integer weights.");
    def_recorded(c, "set_accumulation_mode", &set_accumulation_mode, py::arg("mode"));
    def_recorded(c, "set_deterministic", &set_deterministic, py::arg("value"),
                 "Every run on the same machine gives the same bits.");
    def_recorded(c, "set_rounding_mode", &set_rounding_mode, py::arg("arg"), py::arg("mode"),
                 "Rounding of an output; stochastic needs attr_rounding_seed at execution.");
    def_recorded(c, "set_dropout", &set_dropout, py::arg("mask_desc") = py::none(),
                 py::arg_v("seed_dt", dt::s32, "data_type.s32"), py::arg("use_offset") = false,
                 py::arg("use_host_scalars") = false,
                 "Zero results at random before the post-ops; arguments attr_dropout_*.");
}

// set_post_ops records a copy: oneDNN copies too, so later changes have no effect.
void bind_post_ops_setter(attr_class &c) {
    c.def(
        "set_post_ops",
        [](PrimitiveAttr &self, const PostOps &ops) {
            set_post_ops(self, ops);
            const py::object copy = py::cast(copy_of(ops));
            self.calls.append(py::make_tuple("set_post_ops", py::make_tuple(copy)));
        },
        py::arg("post_ops"), "Operations on the result; a copy is taken.");
}

void bind_getters(attr_class &c) {
    c.def_property_readonly("scratchpad_mode",
                            [](const PrimitiveAttr &a) {
                                return a.library_scratchpad ? dnnl::scratchpad_mode::library
                                                            : dnnl::scratchpad_mode::user;
                            })
        .def_property_readonly(
            "fpmath_mode",
            [](const PrimitiveAttr &a) {
                dnnl::fpmath_mode mode;
                bool apply_to_int;
                a.handle.get_fpmath_mode(mode, apply_to_int);
                return std::make_pair(mode, apply_to_int);
            },
            "(mode, apply_to_int)")
        .def_property_readonly(
            "accumulation_mode",
            [](const PrimitiveAttr &a) { return a.handle.get_accumulation_mode(); })
        .def_property_readonly("deterministic",
                               [](const PrimitiveAttr &a) { return a.handle.get_deterministic(); })
        .def(
            "get_rounding_mode",
            [](PrimitiveAttr &a, argument arg) { return a.handle.get_rounding_mode(arg.id); },
            py::arg("arg"))
        .def(
            "get",
            [](const PrimitiveAttr &a, const std::string &setter) {
                py::list arguments;
                for (const auto &call : copied_calls(a.calls)) {
                    const auto pair = py::reinterpret_borrow<py::tuple>(call);
                    if (py::str(pair[0]).equal(py::str(setter))) arguments.append(pair[1]);
                }
                return arguments;
            },
            py::arg("setter"), "The argument tuples of all calls of ``setter``, in order.");
}

}  // namespace

void bind_attributes(py::module_ &m) {
    attr_class c(m, "PrimitiveAttr", "Settings of a primitive; all default at first.");
    c.def(py::init<>());
    c.def(
        "copy", [](const PrimitiveAttr &a) { return std::make_shared<PrimitiveAttr>(a); },
        "An independent copy.");
    bind_modes(c);
    bind_quantization(c);
    bind_post_ops_setter(c);
    bind_getters(c);
    def_from_calls<PrimitiveAttr>(c, "PrimitiveAttr");
    m.def("_replayed",
          [](const py::object &type, const py::iterable &calls) { return replay(type(), calls); });
}

}  // namespace sycl_dnn
