// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph_compiled.hpp"
#include "stream.hpp"

namespace sycl_dnn {

// CompiledPartition.execute: matches the tensors by number and submits after the events `depends`;
// returns the event.
py::object execute_partition(const py::object &partition, const Stream &stream,
                             const py::sequence &inputs, const py::sequence &outputs,
                             const py::object &scratchpad, const py::object &depends);

}  // namespace sycl_dnn
