// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "graph/graph_types.hpp"

namespace sycl_dnn {

struct CompiledPartition {
    graph::compiled_partition handle;
    py::object partition;
    bool reshapes, needs_order;  // see submission_stream() in graph_execute.cpp
    Engine engine;
    std::vector<logical> inputs, outputs;  // in the order passed to oneDNN
    std::vector<std::pair<size_t, size_t>> inplace;
    logical scratchpad;
    size_t scratchpad_bytes;
    std::string label;  // for profiles
};

CompiledPartition make_compiled(const graph::compiled_partition &handle,
                                const py::object &partition, const Engine &engine,
                                const std::vector<logical> &inputs,
                                const std::vector<logical> &outputs);

}  // namespace sycl_dnn
