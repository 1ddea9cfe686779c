// SPDX-License-Identifier: Apache-2.0
// Python class CompiledPartition, and the properties that its executions need.
#include "graph/graph_compiled.hpp"

#include <algorithm>

#include "graph/graph_execute.hpp"

namespace sycl_dnn {

static logical query(const CompiledPartition &p, size_t id) {
    for (const auto *list : {&p.inputs, &p.outputs})
        for (const logical &t : *list)
            if (t.get_id() == id) return t;
    throw invalid_arguments(
        "CompiledPartition.query_logical_tensor: id must be one of the partition's tensors, got " +
        std::to_string(id));
}

CompiledPartition make_compiled(const graph::compiled_partition &handle,
                                const py::object &partition, const Engine &engine,
                                const std::vector<logical> &inputs,
                                const std::vector<logical> &outputs) {
    CompiledPartition compiled{handle,
                               partition,
                               false,
                               false,
                               engine,
                               inputs,
                               {},
                               handle.get_inplace_ports(),
                               handle.get_scratchpad_logical_tensor(),
                               0,
                               "partition"};
    for (const logical &t : outputs)
        compiled.outputs.push_back(canonical(handle.query_logical_tensor(t.get_id())));
    const auto &source = partition.cast<const Partition &>();
    const auto is_host_scalar = [](const logical &t) {
        return t.get_property_type() == logical::property_type::host_scalar;
    };
    compiled.reshapes = source.reshapes || source.scales;
    const bool indexes =
        source.indexes && std::any_of(inputs.begin(), inputs.end(), is_host_scalar);
    compiled.needs_order = source.scales || (engine.is_cpu() && indexes);
    compiled.scratchpad_bytes = static_cast<size_t>(compiled.scratchpad.get_dims().at(0));
    return compiled;
}

void bind_graph_compiled(py::module_ &m) {
    py::class_<CompiledPartition>(m, "CompiledPartition",
                                  "A partition ready to run; several threads may execute it.")
        .def("query_logical_tensor", &query, py::arg("id"),
             "The input or output as compiled: outputs have their shape and layout now.")
        .def_readonly("inputs", &CompiledPartition::inputs)
        .def_readonly("outputs", &CompiledPartition::outputs)
        .def_readonly("inplace_ports", &CompiledPartition::inplace,
                      "Pairs of input and output that may share memory.")
        .def_readonly("scratchpad_logical_tensor", &CompiledPartition::scratchpad)
        .def_readonly("partition", &CompiledPartition::partition)
        .def_readonly("engine", &CompiledPartition::engine)
        .def_readwrite("label", &CompiledPartition::label, "Its name in sycl_dnn.profile.")
        .def("execute", &execute_partition, py::arg("stream"), py::arg("inputs"),
             py::arg("outputs"), py::arg("scratchpad") = py::none(),
             py::arg("depends") = py::tuple(),
             "Submit after the events ``depends``; return the event of completion. Tensors are "
             "matched by their numbers, in any order. On the CPU device the call returns when the "
             "work is done.");
}

}  // namespace sycl_dnn
