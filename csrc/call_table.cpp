// SPDX-License-Identifier: Apache-2.0
#include "call_table.hpp"

#include <algorithm>

#include "fork.hpp"
#include "in_flight.hpp"
#include "run_program.hpp"

namespace sycl_dnn {

CallTable::CallTable(ArrayTypes t, const py::object &u, const py::object &w, const py::object &m)
    : types(std::move(t)), usm_ndarray(u), wrap(w), move_to_end(m) {}

CallKey CallTable::key_of(const py::object &operation, const py::object &policy,
                          const py::tuple &args, const py::dict &kwargs,
                          const py::object &out) const {
    CallKey key(types);
    key.add_object(operation);
    key.add_object(policy);
    for (const py::handle value : args) key.add(value);
    for (const auto &[name, value] : kwargs) {
        key.add(name);
        key.add(value);
    }
    if (!out.is_none() && key.is_known) key.add_out(out);
    key.add_place();
    return key;
}

// Also tells the cache that the plan was used.
bool CallTable::is_cached(const entry &e) const {
    PyObject *done = PyObject_CallOneArg(move_to_end.ptr(), e.key.ptr());
    if (done) return Py_DECREF(done), true;
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) throw py::error_already_set();
    PyErr_Clear();
    return false;
}

py::object CallTable::call(const py::object &operation, const py::object &policy,
                           const py::tuple &args, const py::dict &kwargs, const py::object &out) {
    refuse_after_fork();
    const CallKey key = key_of(operation, policy, args, kwargs, out);
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    if (!key.is_known) return missed;
    const auto found = entries.find(key.bytes);
    if (found == entries.end()) return missed;
    const std::shared_ptr<entry> known = found->second;
    if (!is_cached(*known)) {
        entries.erase(key.bytes);
        return missed;
    }
    const py::object made = run(*known, key);
    if (made.is(missed)) return missed;
    ++hits;
    return out.is_none() ? made : out;
}

bool CallTable::fill_constants(const CallPlan &plan, const CallKey &key, py::list &arrays) const {
    for (const CallPlan::packed &c : plan.constants) {
        const auto is_source = [&](const auto &f) { return f.first == c.source; };
        const auto found = std::find_if(key.frozen.begin(), key.frozen.end(), is_source);
        const py::dict copies = found->second.attr("packed");
        PyObject *copy = PyDict_GetItemWithError(copies.ptr(), c.recipe.ptr());
        if (!copy) return false;
        arrays[c.number] = py::reinterpret_borrow<py::object>(copy);
    }
    return true;
}

py::object CallTable::allocated(const CallPlan::blank &blank, ResultPool &pool, size_t rank) const {
    py::object memory = pool.take(types.memory[rank], blank.nbytes);
    if (blank.shape.is_none()) return memory;
    PyObject *const given[] = {blank.shape.ptr(), blank.dtype.ptr(), memory.ptr(),
                               blank.strides.ptr()};
    PyObject *made = PyObject_Vectorcall(usm_ndarray.ptr(), given, 1, keywords.ptr());
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

py::object CallTable::run(const entry &e, const CallKey &key) const {
    const CallPlan &plan = *e.plan;
    const Stream &stream = e.stream.cast<const Stream &>();
    stream.flight->prune_if_cheap();
    py::list arrays(plan.n_arrays);
    for (size_t i = 0; i < key.arrays.size(); ++i) arrays[i] = key.arrays[i];
    if (!fill_constants(plan, key, arrays))
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    for (const CallPlan::blank &b : plan.blanks) {
        const bool is_out = key.out && b.number == plan.result;
        arrays[b.number] = is_out ? key.out : allocated(b, *e.pool, key.memory_rank);
    }
    py::list read(plan.reads.size());
    for (size_t i = 0; i < plan.reads.size(); ++i) read[i] = arrays[plan.reads[i]];
    run_program(plan.program, stream, read, py::tuple());
    if (key.out) return key.out;
    const py::object made = wrap(py::object(arrays[plan.result]));
    return plan.carried_dtype.is_none() ? made : types.carried(made, plan.carried_dtype);
}

void CallTable::remember(const py::object &operation, const py::object &policy,
                         const py::tuple &args, const py::dict &kwargs, const py::object &out,
                         const py::object &cached, const std::shared_ptr<CallPlan> &plan,
                         const py::object &stream, const std::shared_ptr<ResultPool> &pool) {
    CallKey key = key_of(operation, policy, args, kwargs, out);
    if (!key.is_known || plan->n_arrays < key.arrays.size()) return;
    // Entries of plans that the cache has dropped are found only when they are asked for.
    if (entries.size() >= 2 * capacity) forget();
    // The queue's address is part of the key, so it must not become another queue's.
    key.holds.push_back(key.arrays.front().attr("sycl_queue"));
    entries[key.bytes] =
        std::make_shared<entry>(entry{plan, stream, pool, cached, std::move(key.holds)});
}

void CallTable::clear() {
    forget();
    hits = 0;
}

void CallTable::forget() {
    decltype(entries) dropped;  // destroyed at the end: that may run Python code that calls
    dropped.swap(entries);
}

}  // namespace sycl_dnn
