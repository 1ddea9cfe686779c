// SPDX-License-Identifier: Apache-2.0
// Python class Primitive, and its creation.
#include <algorithm>

#include "base/fork.hpp"
#include "base/gil.hpp"
#include "primitives/execute.hpp"
#include "primitives/refusals.hpp"
#include "profile/profile.hpp"

namespace sycl_dnn {

namespace {

bool runs_in_place(dnnl::primitive::kind k) {
    using kind = dnnl::primitive::kind;
    static constexpr kind kinds[] = {kind::eltwise,
                                     kind::softmax,
                                     kind::binary,
                                     kind::sum,
                                     kind::batch_normalization,
                                     kind::layer_normalization,
                                     kind::group_normalization,
                                     kind::prelu};
    return std::find(std::begin(kinds), std::end(kinds), k) != std::end(kinds);
}

// With an empty input these do not write their nonempty outputs. (Gradients of RNN weights are
// accumulated, for which that is correct.)
void refuse_unwritten(const PrimitiveDesc &pd, const std::vector<Slot> &slots) {
    const std::string_view name = pd.name;
    const bool forward_rnn =
        pd.handle.get_kind() == dnnl::primitive::kind::rnn && name.find("_forward") != name.npos;
    if (name != "prelu_backward" && name != "batch_normalization_forward" && !forward_rnn) return;
    const auto is_empty = [](const Slot &slot) {
        return slot.check == Slot::rule::same_desc && element_count(slot.layout) == 0;
    };
    const bool nothing_to_read = std::any_of(slots.begin(), slots.end(), [&](const Slot &slot) {
        return !slot.output && is_empty(slot);
    });
    for (const Slot &slot : slots)
        if (nothing_to_read && slot.output && slot.required && !is_empty(slot) &&
            slot.id != DNNL_ARG_WORKSPACE)
            throw unimplemented(std::string(name) + ": oneDNN leaves " +
                                std::string(py::str(slot.name)) +
                                " unwritten when an input is empty");
}

const Engine &engine_that_runs(const PrimitiveDesc &pd) {
    return pd.handle.get_engine().get() == pd.engine.handle.get() ? pd.engine : pd.dst_engine;
}

Primitive make_primitive(const std::shared_ptr<PrimitiveDesc> &pd, bool inserted) {
    refuse_after_fork();
    const bool is_recorded = profile::is_on();
    const int64_t begin = is_recorded ? profile::now() : 0;
    // next_impl() in another thread may change the descriptor, but must not affect this primitive.
    PrimitiveDesc current = *pd;
    current.handle = pd->snapshot();
    refuse_unsafe(current);
    Primitive primitive{.pd = pd, .runs_on = engine_that_runs(current), .slots = slots_of(current)};
    refuse_unwritten(current, primitive.slots);
    primitive.inserted = inserted;
    primitive.may_run_in_place = runs_in_place(current.handle.get_kind());
    primitive.has_runtime_dims =
        std::any_of(primitive.slots.begin(), primitive.slots.end(),
                    [](const Slot &slot) { return slot.check == Slot::rule::same_rank; });
    primitive.empty = empty_product(current);
    primitive.is_idle = is_idle(current);
    if (primitive.empty) {
        primitive.handle = primitive.empty->handle;
        primitive.scratchpad_bytes = primitive.empty->scratchpad.get_size();
        return primitive;
    }
    primitive.scratchpad_bytes = current.handle.scratchpad_desc().get_size();
    const auto was_cached = is_recorded ? profile::is_cached(current.handle) : std::nullopt;
    {
        ReleasedGil nogil;
        primitive.handle = dnnl::primitive(current.handle.get());
    }
    if (is_recorded) profile::note_created(primitive, was_cached, begin);
    return primitive;
}

py::dict arguments(const Primitive &p) {
    py::dict table;
    for (const Slot &slot : p.slots) {
        if (slot.check == Slot::rule::unused) continue;
        py::dict entry;
        entry["id"] = slot.id;
        entry["output"] = slot.output;
        entry["required"] = slot.required;
        entry["data_type"] = slot.type;
        if (slot.check == Slot::rule::values)
            entry["count"] = slot.count;
        else
            entry["desc"] = slot.layout;
        table[slot.name] = entry;
    }
    return table;
}

}  // namespace

void bind_primitive(py::module_ &m) {
    py::class_<Primitive>(m, "Primitive",
                          "An operation that is ready to run; several threads may execute it.")
        .def(py::init(&make_primitive), py::arg("primitive_desc").none(false),
             py::arg("inserted") = false,
             "``inserted`` marks a reorder that sycl_dnn added, for sycl_dnn.profile.")
        .def(
            "execute", &execute, py::arg("stream"), py::arg("args"),
            py::arg("depends") = py::tuple(),
            "Submit with ``args`` (name: Memory) after the events ``depends``; return the event of "
            "completion. All arguments are checked first; if one is wrong, nothing is submitted.")
        .def_property_readonly("arguments", &arguments,
                               "The arguments of execute by name: id, desc, output, required.")
        .def_property_readonly("primitive_desc", [](const Primitive &p) { return p.pd; })
        .def_property_readonly("kind", [](const Primitive &p) { return p.pd->handle.get_kind(); })
        .def_property_readonly("name", [](const Primitive &p) { return p.pd->name; })
        .def(
            "get_cache_blob",
            [](const Primitive &p) {
                const auto blob = p.handle.get_cache_blob();
                return py::bytes(reinterpret_cast<const char *>(blob.data()), blob.size());
            },
            "Compiled code for reuse; oneDNN has none on SYCL and raises Unimplemented.")
        .def("__repr__", [](const Primitive &p) {
            return std::string("<Primitive ") + p.pd->name + " " + signature(p) + ">";
        });
}

}  // namespace sycl_dnn
