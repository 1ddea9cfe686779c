// SPDX-License-Identifier: Apache-2.0
#include "primitives/primitive_desc.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include "base/enums.hpp"
#include "base/errors.hpp"
#include "memory/make_memory_desc.hpp"
#include "primitives/arguments.hpp"
#include "primitives/new_descriptor.hpp"

namespace sycl_dnn {

using pd_class = py::class_<PrimitiveDesc, std::shared_ptr<PrimitiveDesc>>;
using base = dnnl::primitive_desc_base;

// For a post-op without the operand, oneDNN reads another member of its union.
static bool post_op_has(const dnnl::post_ops &ops, int id) {
    using kind = dnnl::primitive::kind;
    const int index = id / DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1;
    if (index >= ops.len()) return false;
    const kind k = ops.kind(index);
    const int operand = id % DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    if (operand == DNNL_ARG_WEIGHTS) return k == kind::prelu;
    if (k != kind::binary || (operand != DNNL_ARG_SRC_1 && operand != DNNL_ARG_SRC_2)) return false;
    dnnl::algorithm algorithm;
    desc src1;
    ops.get_params_binary(index, algorithm, src1);
    return operand == DNNL_ARG_SRC_1 || algorithm == dnnl::algorithm::binary_select;
}

desc PrimitiveDesc::argument_desc(int id) const {
    if (id < 0) return desc();
    if (id >= DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE && !post_op_has(attr->handle.get_post_ops(), id))
        return desc();
    return canonical(handle.query_md(dnnl::query::exec_arg_md, id));
}

// Descriptors of concat, sum and reorder have a single implementation, and a clone would lose a
// reorder's second engine.
dnnl::primitive_desc_base PrimitiveDesc::snapshot() const {
    using kind = dnnl::primitive::kind;
    const kind k = handle.get_kind();
    if (k == kind::reorder || k == kind::concat || k == kind::sum) return handle;
    dnnl_primitive_desc_t copy;
    check(dnnl_primitive_desc_clone(&copy, handle.get()), "could not copy a primitive descriptor");
    return dnnl::primitive_desc_base(copy);
}

bool next_impl(const py::object &self) {
    auto &pd = self.cast<PrimitiveDesc &>();
    do {
        const dnnl_status_t status = dnnl_primitive_desc_next_impl(pd.handle.get());
        if (status == dnnl_last_impl_reached) return false;
        check(status, "could not advance the primitive descriptor to its next implementation");
    } while (is_avoided(pd.name, self));
    return true;
}

// Some queries apply only to certain kinds; for others they return 0 or an empty list, as in
// oneDNN.
static void bind_queries(pd_class &c) {
    const auto property = [&c](const char *name, auto getter) {
        c.def_property_readonly(
            name, [getter](const PrimitiveDesc &pd) { return (pd.handle.*getter)(); });
    };
    property("impl_info_str", &base::impl_info_str);
    property("impl_info", &base::impl_info_str);
    property("kind", &base::get_kind);
    property("prop_kind", &base::get_prop_kind);
    property("algorithm", &base::get_algorithm);
    property("epsilon", &base::get_epsilon);
    property("alpha", &base::get_alpha);
    property("beta", &base::get_beta);
    property("axis", &base::get_axis);
    property("local_size", &base::get_local_size);
    property("k", &base::get_k);
    property("p", &base::get_p);
    property("cell_kind", &base::get_cell_kind);
    property("direction", &base::get_direction);
    property("activation_kind", &base::get_activation_kind);
    property("group_size", &base::get_group_size);
    const auto tuple_property = [&c](const char *name, auto getter) {
        c.def_property_readonly(name, [getter](const PrimitiveDesc &pd) {
            return py::tuple(py::cast((pd.handle.*getter)()));
        });
    };
    tuple_property("strides", &base::get_strides);
    tuple_property("dilations", &base::get_dilations);
    tuple_property("padding_l", &base::get_padding_l);
    tuple_property("padding_r", &base::get_padding_r);
    tuple_property("kernel", &base::get_kernel);
    tuple_property("factors", &base::get_factors);
}

template <class T>
static T query(const PrimitiveDesc &pd, dnnl_query_t property) {
    T value{};
    check(dnnl_primitive_desc_query(pd.handle.get(), property, 0, &value),
          "the primitive descriptor has no such property");
    return value;
}

static void bind_numbers(pd_class &c) {
    c.def_property_readonly(
         "flags",
         [](const PrimitiveDesc &pd) -> py::object {
             if (pd.handle.get_kind() == dnnl::primitive::kind::rnn)
                 return py::cast(pd.handle.get_flags<dnnl::rnn_flags>());
             return py::cast(pd.handle.get_flags<dnnl::normalization_flags>());
         },
         "normalization_flags, or rnn_flags of a cell.")
        .def_property_readonly(
            "num_of_inputs",
            [](const PrimitiveDesc &pd) { return query<int>(pd, dnnl_query_num_of_inputs_s32); })
        .def_property_readonly(
            "num_of_outputs",
            [](const PrimitiveDesc &pd) { return query<int>(pd, dnnl_query_num_of_outputs_s32); })
        .def_property_readonly(
            "time_estimate",
            [](const PrimitiveDesc &pd) { return query<double>(pd, dnnl_query_time_estimate_f64); },
            "The library's own estimate, without a unit.")
        .def_property_readonly(
            "memory_consumption",
            [](const PrimitiveDesc &pd) {
                return query<dnnl_dim_t>(pd, dnnl_query_memory_consumption_s64);
            },
            "Bytes that executions need in addition to the arguments.")
        .def_property_readonly(
            "cache_blob_id",
            [](const PrimitiveDesc &pd) {
                const auto id = pd.handle.get_cache_blob_id();
                return py::bytes(reinterpret_cast<const char *>(id.data()), id.size());
            },
            "Empty on SYCL, where oneDNN keeps no cache blobs.")
        .def(
            "query_s64",
            [](const PrimitiveDesc &pd, dnnl::query q) { return pd.handle.query_s64(q); },
            py::arg("what"));
}

// <argument>_desc for every execution argument, which covers all accessors of dnnl.hpp.
static void bind_argument_descs(pd_class &c, const py::dict &arguments) {
    c.def(
        "desc_of", [](const PrimitiveDesc &pd, argument arg) { return pd.argument_desc(arg.id); },
        py::arg("argument"), "Layout of an execution argument; zero descriptor if unused.");
    c.def(
        "query_md",
        [](const PrimitiveDesc &pd, dnnl::query query, int index) {
            return pd.handle.query_md(query, index);
        },
        py::arg("what"), py::arg("index") = 0);
    for (const auto &item : arguments) {
        const std::string name = py::str(item.first);
        if (name == "from" || name == "to" || name.starts_with("attr_")) continue;
        const int id = item.second.cast<int>();
        c.def_property_readonly((name + "_desc").c_str(),
                                [id](const PrimitiveDesc &pd) { return pd.argument_desc(id); });
    }
}

// dnnl.hpp's additional names for some of them.
static void bind_other_names(pd_class &c, const py::dict &arguments) {
    static constexpr std::pair<const char *, const char *> names[] = {
        {"src0_desc", "src_0"},
        {"src1_desc", "src_1"},
        {"src2_desc", "src_2"},
        {"attention_desc", "augru_attention"},
        {"diff_attention_desc", "diff_augru_attention"},
    };
    for (const auto &[name, argument] : names) {
        const int id = arguments[argument].cast<int>();
        c.def_property_readonly(name,
                                [id](const PrimitiveDesc &pd) { return pd.argument_desc(id); });
    }
}

static std::string describe(const PrimitiveDesc &pd) {
    std::string text = std::string("<") + pd.name + " " + pd.handle.impl_info_str();
    for (const auto &item : pd.parameters) {
        if (item.second.is_none() || py::isinstance<PrimitiveDesc>(item.second)) continue;
        text += " " + std::string(py::str(item.first)) + "=" + std::string(py::str(item.second));
    }
    return text + ">";
}

void bind_primitive_desc(py::module_ &m) {
    bind_fault_watch(m);
    pd_class c(
        m, "PrimitiveDesc",
        "An operation with its parameters, layouts and implementation, created by one of the "
        "functions such as convolution_forward.");
    bind_queries(c);
    bind_numbers(c);
    bind_argument_descs(c, m.attr("ARGUMENTS"));
    bind_other_names(c, m.attr("ARGUMENTS"));
    c.def_property_readonly(
         "name", [](const PrimitiveDesc &pd) { return pd.name; },
         "Name of oneDNN's C++ class: 'convolution_forward'.")
        .def_property_readonly("engine", [](const PrimitiveDesc &pd) { return pd.engine; })
        .def_property_readonly(
            "dst_engine", [](const PrimitiveDesc &pd) { return pd.dst_engine; },
            "Differs from ``engine`` only for a reorder between engines.")
        .def_property_readonly(
            "primitive_attr",
            [](const PrimitiveDesc &pd) { return std::make_shared<PrimitiveAttr>(*pd.attr); },
            "A copy of the attributes.")
        .def_property_readonly(
            "parameters", [](const PrimitiveDesc &pd) { return pd.parameters.attr("copy")(); },
            "The keyword arguments it was created with.")
        .def("next_impl", &next_impl,
             "Switch to the next implementation, usually a slower one; False if there is none. "
             "Implementations known to fail or to be wrong for these arguments are skipped.")
        .def("__repr__", [](const PrimitiveDesc &pd) { return describe(pd); });
}

}  // namespace sycl_dnn
