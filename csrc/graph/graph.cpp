// SPDX-License-Identifier: Apache-2.0
// Python class OpGraph: operations, then partitions.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/errors.hpp"
#include "base/gil.hpp"
#include "graph/graph_types.hpp"

namespace sycl_dnn {

namespace {

struct OpGraph {
    graph::graph handle;
    dnnl::engine::kind kind;
    std::map<size_t, graph::op::kind> kinds;
    // oneDNN's graph may be modified by one thread at a time; partitioning modifies it too.
    std::unique_ptr<std::mutex> guard = std::make_unique<std::mutex>();
};

// The holder may wait for the GIL, so no thread waits for the mutex while holding the GIL.
std::unique_lock<std::mutex> lock_graph(const OpGraph &g) {
    std::unique_lock<std::mutex> lock(*g.guard, std::try_to_lock);
    if (lock) return lock;
    ReleasedGil nogil;
    lock.lock();
    return lock;
}

OpGraph make_graph(const py::object &kind, const py::object &mode) {
    const auto engine_kind = enum_of<dnnl::engine::kind>("engine_kind", kind, "Graph: engine_kind");
    if (mode.is_none()) return {graph::graph(engine_kind), engine_kind, {}};
    const auto math = enum_of<dnnl::fpmath_mode>("fpmath_mode", mode, "Graph: fpmath_mode");
    return {graph::graph(engine_kind, math), engine_kind, {}};
}

std::string text_of(const GraphOp &op) { return py::repr(py::cast(op)); }

graph::status add_new_op(OpGraph &g, const GraphOp &op) {
    const auto lock = lock_graph(g);
    if (g.handle.is_finalized())
        throw invalid_arguments("Graph.add_op: the graph must not be finalized yet, got " +
                                text_of(op));
    // oneDNN silently drops an operation whose id is in use.
    if (g.kinds.count(op.id))
        throw invalid_arguments("Graph.add_op: the number of an operation must be new, got " +
                                text_of(op));
    check_gradient_axes(op);
    const auto status = g.handle.add_op(op.handle, false);
    if (status == graph::status::success) g.kinds.emplace(op.id, op.kind);
    return status;
}

graph::status add_op(OpGraph &g, const GraphOp &op, bool allow_exception) {
    const auto status = add_new_op(g, op);
    if (status != graph::status::success && allow_exception)
        raise_status(static_cast<dnnl_status_t>(status),
                     "Graph.add_op: oneDNN's schema refuses " + text_of(op) +
                         ": number of tensors, data types or attributes; attributes are " +
                         std::string(py::str(op.attributes)));
    return status;
}

void set_math_of(OpGraph &g, const py::object &mode, bool apply_to_int) {
    const auto math = enum_of<dnnl::fpmath_mode>("fpmath_mode", mode, "set_fpmath_mode: mode");
    const auto lock = lock_graph(g);
    g.handle.set_fpmath_mode(math, apply_to_int);
}

void finalize(OpGraph &g) {
    const auto lock = lock_graph(g);
    ReleasedGil nogil;
    g.handle.finalize();
}

std::vector<Partition> partitions_of(OpGraph &g, const py::object &policy) {
    const auto partition_policy = enum_of<graph::partition::policy>("partition_policy", policy,
                                                                    "Graph.get_partitions: policy");
    const auto lock = lock_graph(g);
    if (!g.handle.is_finalized())
        throw invalid_arguments("Graph.get_partitions: finalize() must be called first");
    std::vector<Partition> partitions;
    ReleasedGil nogil;
    for (auto &partition : g.handle.get_partitions(partition_policy)) {
        const auto ops = partition.get_ops();
        const auto has = [&](graph::op::kind kind) {
            return std::any_of(ops.begin(), ops.end(),
                               [&](size_t id) { return g.kinds.at(id) == kind; });
        };
        partitions.push_back({partition, has(graph::op::kind::StaticReshape),
                              has(graph::op::kind::GenIndex),
                              has(graph::op::kind::Quantize) || has(graph::op::kind::Dequantize)});
    }
    return partitions;
}

py::tuple fpmath_of(const OpGraph &g) {
    dnnl::fpmath_mode mode;
    bool apply_to_int;
    const auto lock = lock_graph(g);
    g.handle.get_fpmath_mode(mode, apply_to_int);
    return py::make_tuple(mode, apply_to_int);
}

bool is_finalized(const OpGraph &g) {
    const auto lock = lock_graph(g);
    return g.handle.is_finalized();
}

}  // namespace

void bind_graph(py::module_ &m) {
    py::class_<OpGraph>(m, "OpGraph", "oneDNN's graph: operations, then partitions.")
        .def(py::init(&make_graph), py::arg("engine_kind"), py::arg("fpmath_mode") = py::none())
        .def_readonly("engine_kind", &OpGraph::kind)
        .def("set_fpmath_mode", &set_math_of, py::arg("mode"), py::arg("apply_to_int") = false)
        .def("get_fpmath_mode", &fpmath_of, "The mode, and whether it applies to integers too.")
        .def("add_op", &add_op, py::arg("op"), py::arg("allow_exception") = true,
             "Add an operation; return its status, or raise an error if it is not success.")
        .def("finalize", &finalize, "End building: no more operations can be added.")
        .def_property_readonly("is_finalized", &is_finalized)
        .def("get_partitions", &partitions_of, py::arg("policy") = "fusion",
             "The partitions, in an order in which they can run.");
}

}  // namespace sycl_dnn
