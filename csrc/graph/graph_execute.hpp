// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "engine/stream.hpp"
#include "graph/graph_call.hpp"
#include "graph/graph_compiled.hpp"

namespace sycl_dnn {

// CompiledPartition.execute: matches the tensors by number and submits after the events `depends`;
// returns the event.
py::object execute_partition(const py::object &partition, const Stream &stream,
                             const py::sequence &inputs, const py::sequence &outputs,
                             const py::object &scratchpad, const py::object &depends);

// Submits tensors that fit. Call without the GIL: partitions of the CPU device wait for their own
// work, and what they depend on may need it.
sycl::event submit_partition(const CompiledPartition &p, const Stream &stream, graph_call &c,
                             std::vector<sycl::event> &depends);

}  // namespace sycl_dnn
