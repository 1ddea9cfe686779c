// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "engine/stream.hpp"
#include "graph/graph_call.hpp"
#include "graph/graph_compiled.hpp"

namespace sycl_dnn {

// CompiledPartition.execute: matches the tensors by id, submits after the events `depends`, and
// returns the event.
py::object execute_partition(const py::object &partition, const Stream &stream,
                             const py::sequence &inputs, const py::sequence &outputs,
                             const py::object &scratchpad, const py::object &depends);

// Submits validated tensors. Call without the GIL: partitions on the CPU device wait for their own
// work, whose dependencies may need it.
sycl::event submit_partition(const CompiledPartition &p, const Stream &stream, graph_call &c,
                             std::vector<sycl::event> &depends);

}  // namespace sycl_dnn
