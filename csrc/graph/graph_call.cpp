// SPDX-License-Identifier: Apache-2.0
// Validation of an execution's tensors. oneDNN matches them by position, computes garbage if they
// are swapped and reads past the end of short lists.
#include "graph/graph_call.hpp"

#include <algorithm>

namespace sycl_dnn {

namespace {

using given_list = std::vector<const GraphTensor *>;

[[noreturn]] void refuse(const std::string &rule) {
    throw invalid_arguments("CompiledPartition.execute: " + rule);
}

void check_fit(const CompiledPartition &p, const logical &wanted, const GraphTensor &given,
               bool output) {
    const std::string what = output ? "output " : "input ";
    if (!same_layout(wanted, given.layout))
        refuse(what + "must be " + describe(wanted) + ", got " + describe(given.layout));
    if (given.engine && given.engine != p.engine.handle.get())
        refuse(what + describe(wanted) + " must be on the partition's engine (" +
               describe(p.engine) + "), got one on the " +
               describe(given.engine_object.cast<const Engine &>()));
    if (output && !given.writable) refuse(what + describe(wanted) + " must be writable");
}

// oneDNN matches tensors by position and ignores their ids.
given_list in_order(const CompiledPartition &p, const std::vector<logical> &wanted,
                    const py::sequence &given, bool output, graph_call &c) {
    given_list found, all;
    // A sequence may create new items at each access.
    for (const py::object item : given) {
        c.owners.push_back(item);
        all.push_back(&item.cast<const GraphTensor &>());
    }
    const char *what = output ? "outputs" : "inputs";
    for (const logical &t : wanted) {
        const GraphTensor *match = nullptr;
        for (const GraphTensor *candidate : all) {
            if (candidate->layout.get_id() != t.get_id()) continue;
            if (match)
                refuse(std::string(what) + " must hold each tensor once, got several for " +
                       describe(t));
            match = candidate;
        }
        if (!match) refuse(std::string(what) + " must hold a tensor for " + describe(t));
        check_fit(p, t, *match, output);
        found.push_back(match);
        c.nbytes += match->nbytes;
    }
    for (const GraphTensor *t : all)
        if (std::find(found.begin(), found.end(), t) == found.end())
            refuse(std::string(what) + " must be the partition's own, got " + describe(t->layout));
    return found;
}

bool overlap(const GraphTensor &a, const GraphTensor &b) {
    if (!a.first || !b.first || !a.nbytes || !b.nbytes) return false;
    if (!a.dense || !b.dense) return a.first == b.first;
    return a.first < b.first + b.nbytes && b.first < a.first + a.nbytes;
}

void check_sharing(const CompiledPartition &p, const given_list &inputs,
                   const given_list &outputs) {
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

const_dnnl_graph_tensor_t scratchpad_from(const CompiledPartition &p, const py::object &given,
                                          graph_call &c) {
    if (given.is_none()) return nullptr;
    const GraphTensor &tensor = given.cast<const GraphTensor &>();
    if (tensor.nbytes < p.scratchpad_bytes || tensor.engine != p.engine.handle.get())
        refuse("scratchpad must be on the partition's engine and hold " +
               std::to_string(p.scratchpad_bytes) + " bytes, got " + describe(tensor.layout));
    c.owners.push_back(given);
    return tensor.handle.get();
}

tensor_list handles_of(const given_list &given) {
    tensor_list handles;
    handles.reserve(given.size() + 1);  // oneDNN requires an address even for an empty list
    for (const GraphTensor *t : given) handles.push_back(t->handle.get());
    return handles;
}

}  // namespace

graph_call collect(const CompiledPartition &p, const py::sequence &inputs,
                   const py::sequence &outputs, const py::object &scratchpad) {
    graph_call c;
    const given_list read = in_order(p, p.inputs, inputs, false, c);
    const given_list written = in_order(p, p.outputs, outputs, true, c);
    check_sharing(p, read, written);
    c.inputs = handles_of(read);
    c.outputs = handles_of(written);
    c.scratchpad = scratchpad_from(p, scratchpad, c);
    c.label = p.label;
    return c;
}

}  // namespace sycl_dnn
