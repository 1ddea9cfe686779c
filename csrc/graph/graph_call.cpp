// SPDX-License-Identifier: Apache-2.0
// Validation of an execution's tensors. oneDNN matches them by position, computes garbage if they
// are swapped and reads past the end of short lists.
#include "graph/graph_call.hpp"

#include <algorithm>

namespace sycl_dnn {

namespace {

using tensor_pointers = std::vector<const GraphTensor *>;

[[noreturn]] void refuse(const std::string &rule) {
    throw invalid_arguments("CompiledPartition.execute: " + rule);
}

void check_fit(const CompiledPartition &p, const logical &expected, const GraphTensor &tensor,
               bool output) {
    const std::string role = output ? "output " : "input ";
    if (!same_layout(expected, tensor.layout))
        refuse(role + "must be " + describe(expected) + ", got " + describe(tensor.layout));
    if (tensor.engine && tensor.engine != p.engine.handle.get())
        refuse(role + describe(expected) + " must be on the partition's engine (" +
               describe(p.engine) + "), got one on the " +
               describe(tensor.engine_object.cast<const Engine &>()));
    if (output && !tensor.writable) refuse(role + describe(expected) + " must be writable");
}

// oneDNN matches tensors by position and ignores their ids.
tensor_pointers in_order(const CompiledPartition &p, const std::vector<logical> &expected,
                         const py::sequence &tensors, bool output, graph_call &c) {
    tensor_pointers matched, all;
    // A sequence may create new items at each access.
    for (const py::object item : tensors) {
        c.owners.push_back(item);
        all.push_back(&item.cast<const GraphTensor &>());
    }
    const char *role = output ? "outputs" : "inputs";
    for (const logical &t : expected) {
        const GraphTensor *match = nullptr;
        for (const GraphTensor *candidate : all) {
            if (candidate->layout.get_id() != t.get_id()) continue;
            if (match)
                refuse(std::string(role) + " must hold each tensor once, got several for " +
                       describe(t));
            match = candidate;
        }
        if (!match) refuse(std::string(role) + " must hold a tensor for " + describe(t));
        check_fit(p, t, *match, output);
        matched.push_back(match);
        c.bound.push_back(match);
        c.nbytes += match->nbytes;
    }
    for (const GraphTensor *t : all)
        if (std::find(matched.begin(), matched.end(), t) == matched.end())
            refuse(std::string(role) + " must be the partition's own, got " + describe(t->layout));
    return matched;
}

bool overlap(const GraphTensor &a, const GraphTensor &b) {
    if (!a.first || !b.first || !a.nbytes || !b.nbytes) return false;
    if (!a.dense || !b.dense) return a.first == b.first;
    return a.first < b.first + b.nbytes && b.first < a.first + a.nbytes;
}

void check_sharing(const CompiledPartition &p, const tensor_pointers &inputs,
                   const tensor_pointers &outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        const GraphTensor &out = *outputs[i];
        for (size_t j = 0; j < i; ++j)
            if (overlap(out, *outputs[j]))
                refuse("outputs must not share memory, got " + describe(out.layout) + " and " +
                       describe(outputs[j]->layout));
        for (const GraphTensor *in : inputs) {
            if (!overlap(out, *in)) continue;
            const std::pair<size_t, size_t> pair{in->layout.get_id(), out.layout.get_id()};
            const bool allowed =
                in->first == out.first &&
                std::find(p.inplace.begin(), p.inplace.end(), pair) != p.inplace.end();
            if (!allowed)
                refuse("output " + describe(out.layout) + " must not share memory with input " +
                       describe(in->layout) + " (see inplace_ports)");
        }
    }
}

const_dnnl_graph_tensor_t scratchpad_from(const CompiledPartition &p, const py::object &scratchpad,
                                          graph_call &c) {
    if (scratchpad.is_none()) return nullptr;
    const GraphTensor &tensor = scratchpad.cast<const GraphTensor &>();
    if (tensor.nbytes < p.scratchpad_bytes || tensor.engine != p.engine.handle.get())
        refuse("scratchpad must be on the partition's engine and hold " +
               std::to_string(p.scratchpad_bytes) + " bytes, got " + describe(tensor.layout));
    c.owners.push_back(scratchpad);
    c.bound.push_back(&tensor);
    return tensor.handle.get();
}

tensor_list handles_of(const tensor_pointers &tensors) {
    tensor_list handles;
    handles.reserve(tensors.size() + 1);  // oneDNN requires an address even for an empty list
    for (const GraphTensor *t : tensors) handles.push_back(t->handle.get());
    return handles;
}

}  // namespace

graph_call collect(const CompiledPartition &p, const py::sequence &inputs,
                   const py::sequence &outputs, const py::object &scratchpad) {
    graph_call c;
    const tensor_pointers read = in_order(p, p.inputs, inputs, false, c);
    const tensor_pointers written = in_order(p, p.outputs, outputs, true, c);
    check_sharing(p, read, written);
    c.inputs = handles_of(read);
    c.outputs = handles_of(written);
    c.scratchpad = scratchpad_from(p, scratchpad, c);
    c.label = p.label;
    return c;
}

}  // namespace sycl_dnn
