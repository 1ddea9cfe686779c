// SPDX-License-Identifier: Apache-2.0
// Validation of an execution's arguments. oneDNN itself only counts them.
#include "primitives/call.hpp"

#include <algorithm>

#include "primitives/arguments.hpp"

namespace sycl_dnn {

std::string signature(const Primitive &p) {
    std::string inputs, outputs;
    for (const Slot &slot : p.slots) {
        std::string &side = slot.output ? outputs : inputs;
        side += (side.empty() ? "" : ", ") + std::string(py::str(slot.name));
        if (!slot.required) side += " (optional)";
    }
    return inputs + " -> " + outputs;
}

namespace {

[[noreturn]] void refuse(const Primitive &p, const std::string &problem) {
    throw invalid_arguments(std::string(p.pd->name) + ": " + problem + "; it takes " +
                            signature(p));
}

int id_of_key(PyObject *key) {
    if (PyUnicode_Check(key)) return require_argument_id(py::handle(key).cast<std::string>());
    if (PyLong_Check(key)) return argument_number(key);
    throw py::type_error(std::string("args must have argument names as keys, got ") +
                         Py_TYPE(key)->tp_name);
}

// Another name of the same argument, or its number.
PyObject *find_alias(PyObject *args, int id) {
    PyObject *key, *value;
    for (Py_ssize_t position = 0; PyDict_Next(args, &position, &key, &value);)
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
    // Referenced immediately: Python code that runs from here on may remove it from the arguments.
    c.owners.push_back(py::reinterpret_borrow<py::object>(value));
    const Memory &memory = memory_of(p, slot, value);
    check_fit(p.pd->name, slot, memory);
    const bool replaced = p.empty && belongs_to_factor(slot.id);
    if (slot.passed_as >= 0 && !replaced) c.args.push_back({slot.passed_as, memory.handle.get()});
    c.bound.emplace_back(&slot, &memory);
    c.has_scratchpad |= slot.id == DNNL_ARG_SCRATCHPAD;
}

[[noreturn]] void refuse_extra(const Primitive &p, PyObject *args) {
    PyObject *key, *value;
    for (Py_ssize_t position = 0; PyDict_Next(args, &position, &key, &value);) {
        const int id = id_of_key(key);
        const auto has_id = [id](const Slot &slot) { return slot.id == id; };
        if (std::none_of(p.slots.begin(), p.slots.end(), has_id))
            refuse(p, "unexpected argument " + std::string(py::repr(key)));
    }
    refuse(p, "an argument must be given once, got it under two names");
}

// Whether two tensors without gaps have bytes in common. Views with gaps may interleave, which only
// their owner can judge.
bool overlap(const Memory &a, const Memory &b) {
    if (!a.first || !b.first || !a.nbytes || !b.nbytes) return false;
    const char *pa = static_cast<char *>(a.first), *pb = static_cast<char *>(b.first);
    if (pa + a.nbytes <= pb || pb + b.nbytes <= pa) return false;
    return pa == pb || (a.dense && b.dense);
}

void check_sharing(const Primitive &p, const call &c) {
    for (const auto &[slot, output] : c.bound) {
        if (!slot->output) continue;
        for (const auto &[other, memory] : c.bound) {
            if (other == slot || !overlap(*output, *memory)) continue;
            if (!other->output && p.may_run_in_place && output->first == memory->first) continue;
            refuse(p, std::string(py::str(slot->name)) + " must not share its memory with " +
                          std::string(py::str(other->name)));
        }
    }
}

const desc *layout_of(const call &c, int id) {
    for (const auto &[slot, memory] : c.bound)
        if (slot->id == id) return &memory->layout;
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
        throw unimplemented("matmul: K must not be 0 if it is a runtime dimension");
}

// With runtime dimensions oneDNN does not check the shapes of the memories.
void check_runtime_shapes(const Primitive &p, const call &c) {
    if (!p.has_runtime_dims) return;
    const desc *src = layout_of(c, DNNL_ARG_SRC), *dst = layout_of(c, DNNL_ARG_DST);
    if (!src || !dst) return;
    if (const desc *weights = layout_of(c, DNNL_ARG_WEIGHTS))
        check_runtime_matmul(p, src->get_dims(), weights->get_dims(), dst->get_dims());
    else if (src->get_dims() != dst->get_dims())
        refuse(p, "src and dst must have the same shape");
}

}  // namespace

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

}  // namespace sycl_dnn
