// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph_compiled.hpp"

namespace sycl_dnn {

using tensor_list = std::vector<const_dnnl_graph_tensor_t>;

// What an execution of a partition passes to oneDNN and keeps alive.
struct graph_call {
    tensor_list inputs, outputs;  // in oneDNN's order
    const_dnnl_graph_tensor_t scratchpad = nullptr;
    std::vector<const GraphTensor *> bound;  // all of them
    owner_list owners;                       // also of these
    size_t nbytes = 0;
    std::string label;  // for profiles; the partition's own may change
};

// Matches the tensors of one execution by id and validates them; throws before anything is
// submitted.
graph_call collect(const CompiledPartition &p, const py::sequence &inputs,
                   const py::sequence &outputs, const py::object &scratchpad);

}  // namespace sycl_dnn
