// SPDX-License-Identifier: Apache-2.0
// Python classes OpGraph and Partition.
#include <map>
#include <set>

#include "errors.hpp"
#include "fork.hpp"
#include "graph_compiled.hpp"
#include "graph_types.hpp"

namespace sycl_dnn {

namespace {

struct OpGraph {
    graph::graph handle;
    dnnl::engine::kind kind;
    std::map<size_t, graph::op::kind> kinds;
};

OpGraph make_graph(const py::object &kind, const py::object &mode) {
    const auto where = enum_of<dnnl::engine::kind>("engine_kind", kind, "Graph: engine_kind");
    if (mode.is_none()) return {graph::graph(where), where, {}};
    const auto math = enum_of<dnnl::fpmath_mode>("fpmath_mode", mode, "Graph: fpmath_mode");
    return {graph::graph(where, math), where, {}};
}

std::string text_of(const GraphOp &op) { return py::repr(py::cast(op)); }

graph::status add_op(OpGraph &g, const GraphOp &op, bool allow_exception) {
    if (g.handle.is_finalized())
        throw invalid_arguments("Graph.add_op: the graph must not be finalized yet, got " +
                                text_of(op));
    // oneDNN silently leaves an operation out whose number is taken.
    if (g.kinds.count(op.id))
        throw invalid_arguments("Graph.add_op: the number of an operation must be new, got " +
                                text_of(op));
    const auto status = g.handle.add_op(op.handle, false);
    if (status == graph::status::success)
        g.kinds.emplace(op.id, op.kind);
    else if (allow_exception)
        raise_status(static_cast<dnnl_status_t>(status),
                     "Graph.add_op: oneDNN's schema refuses " + text_of(op) +
                         ": number of tensors, data types or attributes; attributes are " +
                         std::string(py::str(op.attributes)));
    return status;
}

std::vector<Partition> partitions_of(OpGraph &g, const py::object &policy) {
    const auto how = enum_of<graph::partition::policy>("partition_policy", policy,
                                                       "Graph.get_partitions: policy");
    if (!g.handle.is_finalized())
        throw invalid_arguments("Graph.get_partitions: finalize() must be called before");
    std::vector<Partition> made;
    py::gil_scoped_release nogil;
    for (auto &one : g.handle.get_partitions(how)) {
        const auto ops = one.get_ops();
        const auto has = [&](graph::op::kind kind) {
            return std::any_of(ops.begin(), ops.end(),
                               [&](size_t id) { return g.kinds.at(id) == kind; });
        };
        made.push_back({one, has(graph::op::kind::StaticReshape), has(graph::op::kind::GenIndex),
                        has(graph::op::kind::Quantize) || has(graph::op::kind::Dequantize)});
    }
    return made;
}

Partition single(const GraphOp &op, const py::object &kind) {
    const auto where = enum_of<dnnl::engine::kind>("engine_kind", kind, "Partition: engine_kind");
    return {graph::partition(op.handle, where), op.kind == graph::op::kind::StaticReshape,
            op.kind == graph::op::kind::GenIndex,
            op.kind == graph::op::kind::Quantize || op.kind == graph::op::kind::Dequantize};
}

// oneDNN takes them by position, so they are put into the order of the partition's ports.
std::vector<logical> in_port_order(const std::vector<logical> &ports,
                                   const std::vector<logical> &given, const char *what) {
    std::vector<logical> sorted;
    std::set<size_t> wanted;
    for (const logical &port : ports) {
        const auto is_it = [&](const logical &t) { return t.get_id() == port.get_id(); };
        const auto found = std::find_if(given.begin(), given.end(), is_it);
        if (found == given.end())
            throw invalid_arguments(std::string("Partition.compile: ") + what +
                                    " must hold a logical tensor for " + describe(port));
        if (wanted.insert(port.get_id()).second &&
            std::count_if(given.begin(), given.end(), is_it) > 1)
            throw invalid_arguments(std::string("Partition.compile: ") + what +
                                    " must hold each tensor once, got several for " +
                                    describe(port));
        sorted.push_back(*found);
    }
    for (const logical &t : given)
        if (!wanted.count(t.get_id()))
            throw invalid_arguments(std::string("Partition.compile: ") + what +
                                    " must be the partition's own, got " + describe(t));
    return sorted;
}

void check_layouts(const std::vector<logical> &inputs, const std::vector<logical> &outputs) {
    using kind = logical::layout_type;
    for (const logical &t : inputs)
        if (!has_known_shape(t) ||
            (t.get_layout_type() != kind::strided && t.get_layout_type() != kind::opaque))
            throw invalid_arguments(
                "Partition.compile: inputs must have known shapes and a strided or opaque "
                "layout, got " +
                describe(t));
    for (const logical &t : outputs)
        if (t.get_layout_type() == kind::undef)
            throw invalid_arguments(
                "Partition.compile: outputs must have layout any, strided or opaque, got " +
                describe(t));
}

graph::compiled_partition compile_or_raise(const Partition &p, const std::vector<logical> &inputs,
                                           const std::vector<logical> &outputs,
                                           const Engine &engine) {
    const std::string about = "Partition.compile: ";
    try {
        py::gil_scoped_release nogil;
        return p.handle.compile(inputs, outputs, engine.handle);
    } catch (const dnnl::error &e) {
        raise_status(e.status, about + "oneDNN refuses the partition with these tensors");
    } catch (const std::exception &e) {
        // Its cache throws where a thread that compiled the same failed with an exception.
        raise_status(dnnl_runtime_error, about + e.what());
    }
}

CompiledPartition compile(const py::object &self, const std::vector<logical> &inputs,
                          const std::vector<logical> &outputs, const Engine &engine) {
    refuse_after_fork();
    const Partition &p = self.cast<const Partition &>();
    const auto ins = in_port_order(p.handle.get_input_ports(), inputs, "inputs");
    const auto outs = in_port_order(p.handle.get_output_ports(), outputs, "outputs");
    check_layouts(ins, outs);
    if (!p.handle.is_supported())
        throw unimplemented(
            "Partition.compile: oneDNN does not support this partition (is_supported is False)");
    if (engine.handle.get_kind() != p.handle.get_engine_kind())
        throw invalid_arguments(
            "Partition.compile: engine must be of the partition's kind, got the " +
            describe(engine));
    const auto made = compile_or_raise(p, ins, outs, engine);
    return make_compiled(made, self, engine, ins, outs);
}

void bind_partition(py::module_ &m) {
    py::class_<Partition>(m, "Partition", "Operations of a graph that run as one.")
        .def(py::init(&single), py::arg("op"), py::arg("engine_kind"),
             "One operation, without a graph.")
        .def_property_readonly("id", [](const Partition &p) { return p.handle.get_id(); })
        .def_property_readonly(
            "ops", [](const Partition &p) { return p.handle.get_ops(); },
            "Numbers of the operations.")
        .def_property_readonly(
            "is_supported", [](const Partition &p) { return p.handle.is_supported(); },
            "Whether oneDNN can compile it.")
        .def_property_readonly("engine_kind",
                               [](const Partition &p) { return p.handle.get_engine_kind(); })
        .def_property_readonly("input_ports",
                               [](const Partition &p) { return p.handle.get_input_ports(); })
        .def_property_readonly("output_ports",
                               [](const Partition &p) { return p.handle.get_output_ports(); })
        .def("compile", &compile, py::arg("inputs"), py::arg("outputs"), py::arg("engine"),
             "Compile for these logical tensors, which are matched with the ports by their "
             "numbers. Output sizes may be unknown, their layout ``any``.")
        .def("__repr__", [](const Partition &p) {
            return "<Partition " + std::to_string(p.handle.get_id()) + " of " +
                   std::to_string(p.handle.get_ops_num()) + " operations" +
                   (p.handle.is_supported() ? "" : ", not supported") + ">";
        });
}

py::tuple fpmath_of(const OpGraph &g) {
    dnnl::fpmath_mode mode;
    bool apply_to_int;
    g.handle.get_fpmath_mode(mode, apply_to_int);
    return py::make_tuple(mode, apply_to_int);
}

}  // namespace

void bind_graph(py::module_ &m) {
    bind_partition(m);
    py::class_<OpGraph>(m, "OpGraph", "oneDNN's graph: operations, then partitions.")
        .def(py::init(&make_graph), py::arg("engine_kind"), py::arg("fpmath_mode") = py::none())
        .def_readonly("engine_kind", &OpGraph::kind)
        .def(
            "set_fpmath_mode",
            [](OpGraph &g, const py::object &mode, bool apply_to_int) {
                g.handle.set_fpmath_mode(
                    enum_of<dnnl::fpmath_mode>("fpmath_mode", mode, "set_fpmath_mode: mode"),
                    apply_to_int);
            },
            py::arg("mode"), py::arg("apply_to_int") = false)
        .def("get_fpmath_mode", &fpmath_of, "The mode, and whether it holds for integers too.")
        .def("add_op", &add_op, py::arg("op"), py::arg("allow_exception") = true,
             "Add an operation; its status is returned, or raised if it is not success.")
        .def(
            "finalize",
            [](OpGraph &g) {
                py::gil_scoped_release nogil;
                g.handle.finalize();
            },
            "End building: no operation can be added any more.")
        .def_property_readonly("is_finalized",
                               [](const OpGraph &g) { return g.handle.is_finalized(); })
        .def("get_partitions", &partitions_of, py::arg("policy") = "fusion",
             "The partitions in an order in which they can run.");
}

}  // namespace sycl_dnn
