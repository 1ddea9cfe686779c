// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "engine/stream.hpp"
#include "graph/graph_compiled.hpp"

namespace sycl_dnn {

// Compiled partitions that run in sequence over indexed arrays.
struct PartitionSequence {
    struct step {
        py::object compiled;
        std::vector<size_t> inputs, outputs;  // indices, in the partition's order
    };
    std::vector<step> steps;
    size_t nbytes = 0;  // of all their tensors

    // Adds a partition; `numbers` maps tensor ids to array indices.
    void add(const py::object &compiled, const std::unordered_map<size_t, size_t> &numbers);
};

// Submits all partitions over the addresses of the arrays, which `owners` keep alive.
void run_partitions(const PartitionSequence &sequence, const Stream &stream,
                    const std::vector<char *> &addresses, owner_list &&owners);

}  // namespace sycl_dnn
