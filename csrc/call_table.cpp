// SPDX-License-Identifier: Apache-2.0
#include "call_table.hpp"

#include <algorithm>

#include "fork.hpp"
#include "gil.hpp"
#include "in_flight.hpp"
#include "run_program.hpp"

namespace sycl_dnn {

CallTable::CallTable(ArrayTypes t, const py::object &m, CallRules r)
    : types(std::move(t)), move_to_end(m), rules(std::move(r)) {}

std::shared_ptr<CallTable> CallTable::sibling(const py::object &other, CallRules r) const {
    return std::make_shared<CallTable>(types, other, std::move(r));
}

void CallTable::add_argument(CallKey &key, py::handle name, py::handle value) const {
    if (rules.is_constant(name))
        key.add_constant(value);
    else
        key.add(value);
}

CallKey CallTable::key_of(const py::object &operation, const py::object &policy,
                          const py::tuple &args, const py::dict &kwargs,
                          const py::object &out) const {
    CallKey key(types);
    key.holds_frozen = rules.holds_frozen;
    key.add_object(operation);
    key.add_object(policy);
    const bool has_constants = py::len(rules.constants) > 0;
    size_t number = 0;
    for (const py::handle value : args) {
        if (has_constants)
            add_argument(key, py::int_(number++), value);
        else
            key.add(value);
    }
    for (const auto &[name, value] : kwargs) {
        key.add(name);
        if (has_constants)
            add_argument(key, name, value);
        else
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

bool CallTable::is_unchanged(const entry &e, const py::object &operation) const {
    return e.guard.is_none() ||
           !or_park([&]() -> py::object { return e.guard(operation); }).is_none();
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
    if (!is_cached(*known) || !is_unchanged(*known, operation)) {
        entries.erase(key.bytes);
        return missed;
    }
    const py::object made = run(*known, key);
    if (made.is(missed)) return missed;
    ++hits;
    return out.is_none() ? made : out;
}

bool CallTable::fill_constants(const CallPlan &plan, const CallKey &key,
                               std::vector<py::object> &arrays) const {
    for (const CallPlan::packed &c : plan.constants) {
        const auto is_source = [&](const auto &f) { return f.first == c.source; };
        const auto found = std::find_if(key.frozen.begin(), key.frozen.end(), is_source);
        if (c.frozen.is_none() && found == key.frozen.end()) return false;
        const py::object &frozen = c.frozen.is_none() ? found->second : c.frozen;
        const py::dict copies = frozen.attr("packed");
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
    PyObject *made = PyObject_Vectorcall(types.usm_ndarray.ptr(), given, 1, keywords.ptr());
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

// dpnp.ndarray has the one slot `_array_obj`; its own function for this is Python.
py::object CallTable::wrapped(const py::object &array, const py::object &carried_dtype) const {
    static PyObject *const name = PyUnicode_InternFromString("_array_obj");
    auto *type = reinterpret_cast<PyTypeObject *>(types.ndarray.ptr());
    auto made = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
    if (!made || PyObject_SetAttr(made.ptr(), name, array.ptr()) < 0) throw py::error_already_set();
    return carried_dtype.is_none() ? made : types.carried(made, carried_dtype);
}

py::object CallTable::usm_array_of(py::handle array) const {
    static PyObject *const name = PyUnicode_InternFromString("_array_obj");
    if (reinterpret_cast<PyObject *>(Py_TYPE(array.ptr())) != types.ndarray.ptr())
        return array.attr("get_array")();
    PyObject *found = PyObject_GetAttr(array.ptr(), name);
    if (!found) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(found);
}

char *CallTable::address(py::handle array) const {
    const UsmArray *fields = usm_array(array, types.usm_ndarray);
    return fields ? fields->data : address_of(array);
}

// Fills in what the program works on; false where Python must make something first.
bool CallTable::place_arrays(const entry &e, const CallKey &key,
                             std::vector<py::object> &arrays) const {
    const CallPlan &plan = *e.plan;
    arrays = key.arrays;
    arrays.resize(plan.n_arrays);
    for (const CallPlan::fixed &f : plan.captured) arrays[f.number] = usm_array_of(f.array);
    if (!fill_constants(plan, key, arrays)) return false;
    const size_t result = key.out ? plan.form.single() : ResultForm::none;
    for (const CallPlan::blank &b : plan.blanks)
        arrays[b.number] = b.number == result ? key.out : allocated(b, *e.pool, key.memory_rank);
    return true;
}

py::object CallTable::run(const entry &e, const CallKey &key) const {
    const CallPlan &plan = *e.plan;
    const Stream &stream = e.stream.cast<const Stream &>();
    stream.flight->prune_if_cheap();
    std::vector<py::object> arrays;
    if (!place_arrays(e, key, arrays)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    Program::arguments arguments;
    owner_list owners{plan.program};
    for (const size_t number : plan.reads) {
        arguments.arrays.push_back(address(arrays[number]));
        owners.push_back(arrays[number]);
    }
    run_over(plan.program.cast<Program &>(), stream, arguments, std::move(owners));
    if (key.out) return key.out;
    const auto array = [&](size_t number, const py::object &carried_dtype) {
        return wrapped(arrays[number], carried_dtype);
    };
    return plan.form.build(array, key.given);
}

void CallTable::remember(const py::object &operation, const py::object &policy,
                         const py::tuple &args, const py::dict &kwargs, const py::object &out,
                         const py::object &cached, const std::shared_ptr<CallPlan> &plan,
                         const py::object &stream, const std::shared_ptr<ResultPool> &pool,
                         const py::object &guard) {
    CallKey key = key_of(operation, policy, args, kwargs, out);
    if (!key.is_known || plan->n_arrays < key.arrays.size()) return;
    if (key.out && plan->form.single() == ResultForm::none) return;
    // Entries of plans that the cache has dropped are found only when they are asked for.
    if (entries.size() >= 2 * capacity) forget();
    // The queue's address is part of the key, so it must not become another queue's.
    key.holds.push_back(key.arrays.front().attr("sycl_queue"));
    entries[key.bytes] =
        std::make_shared<entry>(entry{plan, stream, pool, cached, guard, std::move(key.holds)});
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
