// SPDX-License-Identifier: Apache-2.0
// Python class Partition: operations that run as one, and their compilation.
#include <algorithm>
#include <future>
#include <set>

#include "base/errors.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "graph/graph_compiled.hpp"

namespace sycl_dnn {

namespace {

Partition single(const GraphOp &op, const py::object &kind) {
    const auto engine_kind =
        enum_of<dnnl::engine::kind>("engine_kind", kind, "Partition: engine_kind");
    check_gradient_axes(op);
    return {graph::partition(op.handle, engine_kind), op.kind == graph::op::kind::StaticReshape,
            op.kind == graph::op::kind::GenIndex,
            op.kind == graph::op::kind::Quantize || op.kind == graph::op::kind::Dequantize};
}

// oneDNN matches tensors by position, so they are sorted by the partition's ports.
std::vector<logical> in_port_order(const std::vector<logical> &ports,
                                   const std::vector<logical> &tensors, const char *role) {
    std::vector<logical> sorted;
    std::set<size_t> port_ids;
    for (const logical &port : ports) {
        const auto is_for_port = [&](const logical &t) { return t.get_id() == port.get_id(); };
        const auto match = std::find_if(tensors.begin(), tensors.end(), is_for_port);
        if (match == tensors.end())
            throw invalid_arguments(std::string("Partition.compile: ") + role +
                                    " must hold a logical tensor for " + describe(port));
        if (port_ids.insert(port.get_id()).second &&
            std::count_if(tensors.begin(), tensors.end(), is_for_port) > 1)
            throw invalid_arguments(std::string("Partition.compile: ") + role +
                                    " must hold each tensor once, got several for " +
                                    describe(port));
        sorted.push_back(*match);
    }
    for (const logical &t : tensors)
        if (!port_ids.count(t.get_id()))
            throw invalid_arguments(std::string("Partition.compile: ") + role +
                                    " must be the partition's own, got " + describe(t));
    return sorted;
}

void check_layouts(const std::vector<logical> &inputs, const std::vector<logical> &outputs) {
    using kind = logical::layout_type;
    for (const logical &t : inputs)
        if (!has_known_shape(t) || !has_known_strides(t) ||
            (t.get_layout_type() != kind::strided && t.get_layout_type() != kind::opaque))
            throw invalid_arguments(
                "Partition.compile: inputs must have known shapes and strides, or an opaque "
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
        ReleasedGil nogil;
        return p.handle.compile(inputs, outputs, engine.handle);
    } catch (const dnnl::error &e) {
        raise_status(e.status, about + "oneDNN refuses this partition with these tensors");
    } catch (const std::future_error &) {
        // oneDNN's cache waits for a compilation that ended with an exception.
        raise_status(dnnl_runtime_error, about + "oneDNN failed to compile this partition");
    } catch (const std::exception &e) {
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
    const auto compiled = compile_or_raise(p, ins, outs, engine);
    return make_compiled(compiled, self, engine, ins, outs);
}

}  // namespace

void bind_graph_partition(py::module_ &m) {
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
             "Compile for these logical tensors, which are matched to the ports by their "
             "numbers. Output sizes may be unknown, their layout ``any``.")
        .def("__repr__", [](const Partition &p) {
            return "<Partition " + std::to_string(p.handle.get_id()) + " of " +
                   std::to_string(p.handle.get_ops_num()) + " operations" +
                   (p.handle.is_supported() ? "" : ", not supported") + ">";
        });
}

}  // namespace sycl_dnn
