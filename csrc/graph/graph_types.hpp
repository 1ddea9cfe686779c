// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the Graph API.
#pragma once

#include <oneapi/dnnl/dnnl_graph.hpp>
#include <vector>

#include "base/enums.hpp"
#include "engine/engine.hpp"

namespace sycl_dnn {

namespace graph = dnnl::graph;
using logical = graph::logical_tensor;

// "7: f32 (2, 3) strided (3, 1)", for messages.
std::string describe(const logical &tensor);
bool has_known_shape(const logical &tensor);
// Whether a strided one has all its strides; true for others.
bool has_known_strides(const logical &tensor);
// DNNL_GRAPH_UNKNOWN_NDIMS if unknown.
int rank_of(const logical &tensor);
// Bytes from the first element to the end of the last one.
size_t extent(const logical &tensor);
bool has_no_gaps(const logical &tensor);
// With the strides of `canonical_strides`, if it is strided and known.
logical canonical(const logical &tensor);
// Whether memory with layout `given` can be used as `wanted`.
bool same_layout(const logical &expected, const logical &actual);

struct GraphOp {
    graph::op handle;
    size_t id;
    graph::op::kind kind;
    std::string name;
    std::vector<logical> inputs, outputs;
    py::dict attributes;
};

// May be compiled after its graph is gone; keeps what it needs.
struct Partition {
    graph::partition handle;
    // Operations for which oneDNN loses events.
    bool reshapes;  // has a StaticReshape
    bool indexes;   // has a GenIndex
    bool scales;    // has constant scales or zero points
};

// Throws if oneDNN would crash: a gradient whose tensors differ in rank.
void check_gradient_axes(const GraphOp &op);

// Memory in the layout of a logical tensor. Immutable.
struct GraphTensor {
    graph::tensor handle;
    logical layout;
    dnnl_engine_t engine;      // null for a host scalar
    py::object engine_object;  // the Engine, or None
    py::object owner;          // owner of the memory; the bytes of a host scalar
    const sycl::queue *queue;  // that the memory belongs to; null for a host scalar
    bool writable;
    char *first;
    size_t nbytes;
    bool dense;
};

}  // namespace sycl_dnn
