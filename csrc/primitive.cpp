// SPDX-License-Identifier: Apache-2.0
// Python class Primitive: checks the arguments of an execution by name, then submits it.
#include <oneapi/dnnl/dnnl_sycl.h>

#include <algorithm>
#include <sycl/sycl.hpp>

#include "arguments.hpp"
#include "dpctl_api.hpp"
#include "empty.hpp"
#include "errors.hpp"
#include "in_flight.hpp"
#include "memory.hpp"
#include "scratchpad.hpp"
#include "slots.hpp"
#include "stream.hpp"

namespace sycl_dnn {

namespace {

struct Primitive {
    dnnl::primitive handle;
    std::shared_ptr<PrimitiveDesc> pd;
    std::vector<Slot> slots;
    desc scratchpad;
    bool may_run_in_place;
    bool has_runtime_dims;
    std::optional<EmptyProduct> empty;
};

// What one execution passes to oneDNN and keeps alive.
struct call {
    std::vector<dnnl_exec_arg_t> args;
    std::vector<PyObject *> owners;
    std::vector<std::pair<const Slot *, const Memory *>> bound;
    bool has_scratchpad = false;
};

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

Primitive make_primitive(const std::shared_ptr<PrimitiveDesc> &pd) {
    // The slots are taken now: a later next_impl() changes the descriptor, not this primitive.
    std::vector<Slot> slots = slots_of(*pd);
    refuse_unwritten(*pd, slots);
    const bool in_place = runs_in_place(pd->handle.get_kind());
    const bool open = std::any_of(slots.begin(), slots.end(), [](const Slot &slot) {
        return slot.check == Slot::rule::same_rank;
    });
    if (auto empty = empty_product(*pd))
        return {empty->handle, pd, std::move(slots), empty->scratchpad, in_place, open, empty};
    dnnl::primitive handle;
    {
        py::gil_scoped_release nogil;
        handle = dnnl::primitive(pd->handle.get());
    }
    return {handle,   pd,   std::move(slots), pd->handle.scratchpad_desc(),
            in_place, open, std::nullopt};
}

std::string signature(const Primitive &p) {
    std::string inputs, outputs;
    for (const Slot &slot : p.slots) {
        std::string &side = slot.output ? outputs : inputs;
        side += (side.empty() ? "" : ", ") + std::string(py::str(slot.name));
        if (!slot.required) side += " (optional)";
    }
    return inputs + " -> " + outputs;
}

[[noreturn]] void refuse(const Primitive &p, const std::string &problem) {
    throw invalid_arguments(std::string(p.pd->name) + ": " + problem + "; it takes " +
                            signature(p));
}

int id_of_key(PyObject *key) {
    if (PyUnicode_Check(key)) return require_argument_id(py::handle(key).cast<std::string>());
    if (PyLong_Check(key)) return py::handle(key).cast<int>();
    throw py::type_error(std::string("args must have argument names as keys, got ") +
                         Py_TYPE(key)->tp_name);
}

// Another name of the same argument, or its number.
PyObject *find_alias(PyObject *args, int id) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(args, &at, &key, &value);)
        if (id_of_key(key) == id) return value;
    return nullptr;
}

const Memory &memory_of(const Primitive &p, const Slot &slot, PyObject *value) {
    py::detail::type_caster<Memory> caster;
    if (!caster.load(value, false))
        throw py::type_error(std::string(p.pd->name) + ": " + std::string(py::str(slot.name)) +
                             " must be a Memory, got " + Py_TYPE(value)->tp_name);
    return caster;
}

void bind_argument(const Primitive &p, const Slot &slot, PyObject *value, call &c) {
    const Memory &given = memory_of(p, slot, value);
    check_fit(p.pd->name, slot, given);
    const bool replaced = p.empty && belongs_to_factor(slot.id);
    if (slot.passed_as >= 0 && !replaced) c.args.push_back({slot.passed_as, given.handle.get()});
    c.owners.push_back(value);
    c.bound.emplace_back(&slot, &given);
    c.has_scratchpad |= slot.id == DNNL_ARG_SCRATCHPAD;
}

[[noreturn]] void refuse_extra(const Primitive &p, PyObject *args) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(args, &at, &key, &value);) {
        const int id = id_of_key(key);
        const auto is_it = [id](const Slot &slot) { return slot.id == id; };
        if (std::none_of(p.slots.begin(), p.slots.end(), is_it))
            refuse(p, "unexpected argument " + std::string(py::repr(key)));
    }
    refuse(p, "an argument is given twice under two names");
}

// Whether two tensors without gaps have bytes in common. Views with gaps may interleave, which
// only their owner can judge.
bool overlap(const Memory &a, const Memory &b) {
    const size_t na = extent(a.layout), nb = extent(b.layout);
    const char *pa = static_cast<char *>(a.first), *pb = static_cast<char *>(b.first);
    if (!pa || !pb || !na || !nb || pa + na <= pb || pb + nb <= pa) return false;
    const auto is_dense = [](const Memory &m, size_t nbytes) {
        return m.layout.get_submemory_offset() == 0 &&
               static_cast<int64_t>(nbytes) * 8 <=
                   element_count(m.layout) * bits_of(m.layout.get_data_type()) + 7;
    };
    return pa == pb || (is_dense(a, na) && is_dense(b, nb));
}

void check_sharing(const Primitive &p, const call &c) {
    for (const auto &[slot, output] : c.bound) {
        if (!slot->output) continue;
        for (const auto &[other, given] : c.bound) {
            if (other == slot || !overlap(*output, *given)) continue;
            if (!other->output && p.may_run_in_place && output->first == given->first) continue;
            refuse(p, std::string(py::str(slot->name)) + " must not share its memory with " +
                          std::string(py::str(other->name)));
        }
    }
}

const desc *layout_of(const call &c, int id) {
    for (const auto &[slot, given] : c.bound)
        if (slot->id == id) return &given->layout;
    return nullptr;
}

void check_runtime_matmul(const Primitive &p, const dims &src, const dims &weights,
                          const dims &dst) {
    const size_t n = dst.size();
    const auto fit = [](int64_t a, int64_t b) { return a == b || a == 1; };
    bool ok =
        src[n - 1] == weights[n - 2] && src[n - 2] == dst[n - 2] && weights[n - 1] == dst[n - 1];
    for (size_t i = 0; i + 2 < n; ++i) ok = ok && fit(src[i], dst[i]) && fit(weights[i], dst[i]);
    if (!ok) refuse(p, "the shapes of src, weights and dst must fit together");
    if (src[n - 1] == 0)
        throw unimplemented("matmul: K must not be 0 where it is a runtime dimension");
}

// With runtime dimensions oneDNN takes the shapes of the memories as they come.
void check_runtime_shapes(const Primitive &p, const call &c) {
    if (!p.has_runtime_dims) return;
    const desc *src = layout_of(c, DNNL_ARG_SRC), *dst = layout_of(c, DNNL_ARG_DST);
    if (!src || !dst) return;
    if (const desc *weights = layout_of(c, DNNL_ARG_WEIGHTS))
        check_runtime_matmul(p, src->get_dims(), weights->get_dims(), dst->get_dims());
    else if (src->get_dims() != dst->get_dims())
        refuse(p, "src and dst must have the same shape");
}

call collect(const Primitive &p, const py::dict &args) {
    call c;
    c.args.reserve(p.slots.size() + 1);
    c.owners.reserve(p.slots.size() + 2);
    c.bound.reserve(p.slots.size());
    Py_ssize_t unseen = PyDict_Size(args.ptr());
    for (const Slot &slot : p.slots) {
        PyObject *value = PyDict_GetItemWithError(args.ptr(), slot.name.ptr());
        if (!value && unseen) value = find_alias(args.ptr(), slot.id);
        if (!value && slot.required)
            refuse(p, "missing argument '" + std::string(py::str(slot.name)) + "'");
        if (!value) continue;
        --unseen;
        bind_argument(p, slot, value, c);
    }
    if (unseen) refuse_extra(p, args.ptr());
    check_sharing(p, c);
    check_runtime_shapes(p, c);
    if (p.empty) {
        c.args.push_back({DNNL_ARG_SRC, p.empty->src.get()});
        c.args.push_back({DNNL_ARG_WEIGHTS, p.empty->weights.get()});
    }
    return c;
}

// Lends a scratchpad to one call: in the pool again when the call is submitted or has failed.
class scratchpad_lease {
  public:
    scratchpad_lease(const Primitive &p, const Stream &stream, call &c,
                     std::vector<sycl::event> &depends) {
        const size_t nbytes = p.scratchpad.get_size();
        if (!nbytes || c.has_scratchpad) return;
        pool = stream.scratchpads;
        lent = &pool->lease(nbytes, depends);
        handle = dnnl::memory(p.scratchpad, stream.engine.handle, lent->pointer);
        c.args.push_back({DNNL_ARG_SCRATCHPAD, handle.get()});
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
    dnnl::memory handle;
};

sycl::event submit(const Primitive &p, const Stream &stream, call &c,
                   std::vector<sycl::event> &depends) {
    py::gil_scoped_release nogil;
    scratchpad_lease scratchpad(p, stream, c, depends);
    sycl::event event;
    check(dnnl_sycl_interop_primitive_execute(p.handle.get(), stream.handle.get(),
                                              static_cast<int>(c.args.size()), c.args.data(),
                                              &depends, &event),
          "could not execute the primitive");
    scratchpad.used_until(event);
    return event;
}

sycl::event submit_or_raise(const Primitive &p, const Stream &stream, call &c,
                            std::vector<sycl::event> &depends) {
    const std::string name = p.pd->name;
    try {
        return submit(p, stream, c, depends);
    } catch (const dnnl::error &e) {
        raise_status(e.status, name + ": " + e.message);
    } catch (const std::bad_alloc &) {
        raise_status(dnnl_out_of_memory, name + ": no memory for a scratchpad of " +
                                             std::to_string(p.scratchpad.get_size()) + " bytes");
    } catch (const sycl::exception &e) {
        raise_status(dnnl_runtime_error, name + ": " + e.what());
    }
}

py::object order_manager(const Stream &stream) {
    static const auto *managers =
        new py::object(py::module_::import("dpctl.utils").attr("SequentialOrderManager"));
    return (*managers)[stream.queue];
}

void check_stream(const Primitive &p, const Stream &stream) {
    const auto *handle = stream.engine.handle.get();
    if (handle != p.pd->engine.handle.get() && handle != p.pd->dst_engine.handle.get())
        throw invalid_arguments(
            std::string(p.pd->name) + ": stream must be on the primitive's engine (" +
            describe(p.pd->engine) + "), got one on the " + describe(stream.engine));
}

py::object execute(const py::object &self, const Stream &stream, const py::dict &args,
                   const py::object &depends) {
    const Primitive &p = self.cast<const Primitive &>();
    check_stream(p, stream);
    call c = collect(p, args);
    std::vector<sycl::event> events;
    append_events(depends, events);
    py::object manager;
    if (stream.ordered) {
        manager = order_manager(stream);
        append_events(manager.attr("submitted_events"), events);
    }
    const sycl::event event = submit_or_raise(p, stream, c, events);
    c.owners.push_back(self.ptr());
    for (PyObject *owner : c.owners) Py_INCREF(owner);
    const py::object made = make_event(event);
    if (stream.ordered) manager.attr("add_event_pair")(made, made);
    stream.flight->add(event, std::move(c.owners));
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
        .def(py::init(&make_primitive), py::arg("primitive_desc").none(false))
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
