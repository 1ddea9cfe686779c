// SPDX-License-Identifier: Apache-2.0
// One call of a graph whose partitions and arrays were validated before.
#include "graph/graph_sequence.hpp"

#include "base/fork.hpp"
#include "graph/graph_call.hpp"
#include "graph/graph_execute.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

using tensors = std::vector<graph::tensor>;

static std::vector<size_t> numbers_of(const std::vector<logical> &layouts,
                                      const std::unordered_map<size_t, size_t> &numbers) {
    std::vector<size_t> indices;
    for (const logical &t : layouts) indices.push_back(numbers.at(t.get_id()));
    return indices;
}

void PartitionSequence::add(const py::object &compiled,
                            const std::unordered_map<size_t, size_t> &numbers) {
    const auto &p = compiled.cast<const CompiledPartition &>();
    steps.push_back({compiled, numbers_of(p.inputs, numbers), numbers_of(p.outputs, numbers)});
    for (const auto *list : {&p.inputs, &p.outputs})
        for (const logical &t : *list) nbytes += extent(t);
}

static std::vector<const_dnnl_graph_tensor_t> make_tensors(const CompiledPartition &p,
                                                           const std::vector<logical> &layouts,
                                                           const std::vector<size_t> &numbers,
                                                           const std::vector<char *> &addresses,
                                                           tensors &storage) {
    std::vector<const_dnnl_graph_tensor_t> handles;
    handles.reserve(layouts.size() + 1);  // oneDNN requires an address even for an empty list
    for (size_t i = 0; i < layouts.size(); ++i) {
        storage.emplace_back(layouts[i], p.engine.handle, addresses.at(numbers[i]));
        handles.push_back(storage.back().get());
    }
    return handles;
}

static void submit_all(const PartitionSequence &sequence,
                       const std::vector<const CompiledPartition *> &partitions,
                       const Stream &stream, const std::vector<char *> &addresses, tensors &storage,
                       std::vector<sycl::event> &events, sycl::event &last) {
    for (size_t i = 0; i < partitions.size(); ++i) {
        const CompiledPartition &p = *partitions[i];
        graph_call c;
        c.inputs = make_tensors(p, p.inputs, sequence.steps[i].inputs, addresses, storage);
        c.outputs = make_tensors(p, p.outputs, sequence.steps[i].outputs, addresses, storage);
        c.label = p.label;
        last = submit_partition(p, stream, c, events);
        events.assign(1, last);
    }
}

void run_partitions(const PartitionSequence &sequence, const Stream &stream,
                    const std::vector<char *> &addresses, owner_list &&owners) {
    std::vector<const CompiledPartition *> partitions;
    for (const auto &step : sequence.steps)
        partitions.push_back(step.compiled.cast<const CompiledPartition *>());
    // The memory passed to oneDNN lives as long as the arrays.
    auto *storage = new tensors;
    owners.push_back(py::capsule(storage, [](void *p) { delete static_cast<tensors *>(p); }));
    std::vector<sycl::event> events;
    const OrderedCall order(stream, events);
    submit_steps({"Graph", "scratchpad", 0}, sequence.nbytes, stream, order, std::move(owners),
                 [&](sycl::event &last) {
                     submit_all(sequence, partitions, stream, addresses, *storage, events, last);
                 });
}

}  // namespace sycl_dnn
