// SPDX-License-Identifier: Apache-2.0
// Python class Primitive: makes it, submits its executions, keeps alive what they use.
#include <oneapi/dnnl/dnnl_sycl.h>

#include <algorithm>
#include <sycl/sycl.hpp>

#include "call.hpp"
#include "dpctl_api.hpp"
#include "errors.hpp"
#include "fork.hpp"
#include "in_flight.hpp"
#include "order.hpp"
#include "profile.hpp"
#include "refusals.hpp"
#include "scratchpad.hpp"
#include "stream.hpp"

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

// With an empty input these leave outputs unwritten that are not empty. (Gradients of RNN weights
// are added to, so there it is right.)
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
    refuse_unsafe(*pd);
    const bool is_recorded = profile::is_on();
    const int64_t begin = is_recorded ? profile::now() : 0;
    // The slots are taken now: a later next_impl() changes the descriptor, not this primitive.
    Primitive made{.pd = pd, .runs_on = engine_that_runs(*pd), .slots = slots_of(*pd)};
    refuse_unwritten(*pd, made.slots);
    made.inserted = inserted;
    made.may_run_in_place = runs_in_place(pd->handle.get_kind());
    made.has_runtime_dims = std::any_of(made.slots.begin(), made.slots.end(), [](const Slot &slot) {
        return slot.check == Slot::rule::same_rank;
    });
    made.empty = empty_product(*pd);
    if (made.empty) {
        made.handle = made.empty->handle;
        made.scratchpad_bytes = made.empty->scratchpad.get_size();
        return made;
    }
    made.scratchpad_bytes = pd->handle.scratchpad_desc().get_size();
    const auto was_cached = is_recorded ? profile::is_cached(pd->handle) : std::nullopt;
    {
        py::gil_scoped_release nogil;
        made.handle = dnnl::primitive(pd->handle.get());
    }
    if (is_recorded) profile::note_created(made, was_cached, begin);
    return made;
}

// Lends a scratchpad to one call: in the pool again when the call is submitted or has failed.
class scratchpad_lease {
  public:
    scratchpad_lease(const Primitive &p, const Stream &stream, call &c,
                     std::vector<sycl::event> &depends) {
        if (!p.scratchpad_bytes || c.has_scratchpad) return;
        pool = stream.scratchpads;
        lent = &pool->lease(p.scratchpad_bytes, depends);
        c.args.push_back({DNNL_ARG_SCRATCHPAD, lent->memory.get()});
    }
    ~scratchpad_lease() {
        if (lent) pool->give_back(*lent);
    }
    void used_until(const sycl::event &event) {
        if (lent) pool->give_back(*lent, event);
        lent = nullptr;
    }
    scratchpad_lease(const scratchpad_lease &) = delete;

  private:
    ScratchpadPool *pool = nullptr;
    ScratchpadPool::buffer *lent = nullptr;
};

sycl::event submit(const Primitive &p, const Stream &stream, call &c,
                   std::vector<sycl::event> &depends) {
    py::gil_scoped_release nogil;
    scratchpad_lease scratchpad(p, stream, c, depends);
    const auto execute = [&] {
        sycl::event event;
        check(dnnl_sycl_interop_primitive_execute(p.handle.get(), stream.handle.get(),
                                                  static_cast<int>(c.args.size()), c.args.data(),
                                                  &depends, &event),
              "could not execute the primitive");
        return event;
    };
    const sycl::event event =
        profile::is_on() ? profile::run(p, stream, c.args, depends, execute) : execute();
    scratchpad.used_until(event);
    return event;
}

sycl::event submit_or_raise(const Primitive &p, const Stream &stream, call &c,
                            std::vector<sycl::event> &depends) {
    const auto about = [&p](const std::string &text) { return p.pd->name + (": " + text); };
    try {
        return submit(p, stream, c, depends);
    } catch (const dnnl::error &e) {
        raise_status(e.status, about(e.message));
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory, about("no memory for a scratchpad of " +
                                               std::to_string(p.scratchpad_bytes) + " bytes"));
    } catch (const sycl::exception &e) {
        raise_status(dnnl_runtime_error, about(e.what()));
    }
}

// A reorder between engines runs on one of the two only: the GPU's if the other is a CPU, else
// src's. oneDNN says no more than "invalid arguments" to a stream of the other one.
void check_stream(const Primitive &p, const Stream &stream) {
    if (stream.engine.handle.get() == p.runs_on.handle.get()) return;
    const PrimitiveDesc &pd = *p.pd;
    const bool two = pd.engine.handle.get() != pd.dst_engine.handle.get();
    const bool to_gpu = two && pd.engine.is_cpu() != pd.dst_engine.is_cpu();
    const char *rule = !two     ? "the primitive's engine"
                       : to_gpu ? "the GPU's engine in a reorder between CPU and GPU"
                                : "src's engine in a reorder between two engines of a kind";
    throw invalid_arguments(std::string(pd.name) + ": stream must be on " + rule + " (" +
                            describe(p.runs_on) + "), got one on the " + describe(stream.engine));
}

py::object execute(const py::object &self, const Stream &stream, const py::dict &args,
                   const py::object &depends) {
    const Primitive &p = self.cast<const Primitive &>();
    refuse_after_fork();
    check_stream(p, stream);
    call c = collect(p, args);
    std::vector<sycl::event> events;
    append_events(depends, events);
    const OrderedCall order(stream, events);
    const sycl::event event = submit_or_raise(p, stream, c, events);
    c.owners.push_back(self.ptr());
    for (PyObject *owner : c.owners) Py_INCREF(owner);
    size_t nbytes = 0;
    for (const auto &bound : c.bound) nbytes += bound.second->nbytes;
    const py::object made = make_event(event);
    order.submitted(made);
    stream.flight->add(event, std::move(c.owners), nbytes);
    return made;
}

py::dict arguments(const Primitive &p) {
    py::dict table;
    for (const Slot &slot : p.slots) {
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
                          "An operation ready to run; may be executed from several threads.")
        .def(py::init(&make_primitive), py::arg("primitive_desc").none(false),
             py::arg("inserted") = false,
             "``inserted`` marks a reorder that nobody asked for, in sycl_dnn.profile.")
        .def(
            "execute", &execute, py::arg("stream"), py::arg("args"),
            py::arg("depends") = py::tuple(),
            "Submit with ``args`` (name: Memory) after the events ``depends``; return the event of "
            "completion. Everything is checked by name first; nothing is submitted if it fails.")
        .def_property_readonly("arguments", &arguments,
                               "What execute takes: name, and for each id, desc, output, required.")
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
