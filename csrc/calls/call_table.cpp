// SPDX-License-Identifier: Apache-2.0
#include "calls/call_table.hpp"

#include <algorithm>

#include "base/fast_method.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "calls/recorded_calls.hpp"
#include "calls/reverse_call.hpp"

namespace sycl_dnn {

CallTable::CallTable(ArrayTypes t, CallRules r)
    : types(std::move(t)), rules(std::move(r)), has_constants(py::len(rules.constants) > 0) {}

void CallTable::add_argument(CallKey &key, py::handle name, py::handle value) const {
    if (rules.is_constant(name))
        key.add_constant(value);
    else
        key.add(value);
}

CallKey CallTable::key_of(py::handle subject, py::handle args, py::handle kwargs, py::handle out,
                          bool keeps) const {
    if (!PyTuple_CheckExact(args.ptr()) || !PyDict_CheckExact(kwargs.ptr()))
        throw py::type_error("CallTable: args must be a tuple, kwargs a dict");
    CallKey key(types, keeps);
    key.holds_frozen = rules.holds_frozen;
    key.add_identity(subject);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.ptr()); ++i) {
        const py::handle value = PyTuple_GET_ITEM(args.ptr(), i);
        if (has_constants)
            add_argument(key, py::int_(i), value);
        else
            key.add(value);
    }
    PyObject *name, *value;
    for (Py_ssize_t i = 0; PyDict_Next(kwargs.ptr(), &i, &name, &value);) {
        key.add(name);
        if (has_constants)
            add_argument(key, name, value);
        else
            key.add(value);
    }
    if (!out.is_none() && key.is_known) key.add_out(out);
    if (!key.recording) key.add_place();
    return key;
}

// The referent of a weak reference; None if it is gone.
static py::object referred(const py::object &reference) {
    return py::reinterpret_borrow<py::object>(PyWeakref_GetObject(reference.ptr()));
}

// Whether the captured values are those that the plan was made for.
static bool holds(const py::object &guard) {
    if (guard.is_none()) return true;
    const py::object check = referred(guard);
    if (check.is_none()) return false;
    PyObject *found = or_park([&] { return PyObject_CallNoArgs(check.ptr()); });
    if (!found) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(found).is(py::bool_(true));
}

py::object CallTable::call(py::handle subject, py::handle args, py::handle kwargs, py::handle out) {
    refuse_after_fork();
    CallKey key = key_of(subject, args, kwargs, out, false);
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    if (!key.is_known) return missed;
    if (key.recording)
        return out.is_none() ? repeat_recorded(types, key, py::reinterpret_borrow<py::tuple>(args),
                                               py::reinterpret_borrow<py::dict>(kwargs))
                             : missed;
    const auto found = entries.find(key.bytes);
    if (found == entries.end()) return missed;
    const std::shared_ptr<entry> known = found->second;
    const py::object owner = referred(known->owner);
    if (owner.is_none() || !holds(known->guard)) {
        // Another call may have replaced the entry while the guard ran.
        const auto now = entries.find(key.bytes);
        if (now != entries.end() && now->second == known) entries.erase(now);
        return missed;
    }
    known->used = ++n_calls;
    const py::object made = run(*known, std::move(key), out);
    if (made.is(missed)) return missed;
    ++hits;
    return made;
}

py::object CallTable::run(const entry &e, CallKey &&key, py::handle given_out) const {
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    const CallPlan &plan = *e.plan;
    const py::handle kind = types.memory[key.memory_rank];
    const Stream &stream = native<Stream>(e.stream.ptr());
    CallFrame frame(std::move(key), kind);
    if (!submit_call(types, plan, stream, native<ResultPool>(e.pool.ptr()), frame)) return missed;
    if (frame.out) return py::reinterpret_borrow<py::object>(given_out);
    const py::object result = results_of(types, plan, frame);
    if (e.reverse.is_none()) return result;
    return py::make_tuple(
        result, pullback_of(e.reverse, referred(e.owner), kept_of(frame, plan, e.stream, e.pool)));
}

void CallTable::remember(py::handle subject, py::handle args, py::handle kwargs, py::handle out,
                         const py::list &arrays, entry made) {
    CallKey key = key_of(subject, args, kwargs, out, true);
    if (!key.are_arrays(arrays)) return;
    if (key.out && made.plan->form.single() == ResultForm::none) return;
    // Entries of evicted plans are noticed only on lookup.
    if (entries.size() >= 2 * capacity) forget();
    // The key includes the queue's address, which must not be reused for another queue.
    key.holds.push_back(key.arrays.front().attr("sycl_queue"));
    made.holds = std::move(key.holds);
    const auto added = std::make_shared<entry>(std::move(made));
    std::shared_ptr<entry> &place = entries[key.bytes];
    const std::shared_ptr<entry> dropped = std::exchange(place, added);
}

void CallTable::remember_run(CallPoint &point, py::handle subject, py::handle args,
                             py::handle kwargs, RecordedCall made) const {
    remember_recorded(point, key_of(subject, args, kwargs, py::none(), true), std::move(made));
}

std::vector<py::object> CallTable::used() {
    std::vector<entry *> found;
    for (const auto &[bytes, e] : entries)
        if (e->used) found.push_back(e.get());
    std::sort(found.begin(), found.end(), [](auto *a, auto *b) { return a->used < b->used; });
    std::vector<py::object> keys;
    for (entry *e : found) {
        keys.push_back(e->key);
        e->used = 0;
    }
    return keys;
}

void CallTable::forget_dropped() {
    std::vector<std::shared_ptr<entry>> dropped;  // destroyed on return, as in `forget`
    for (auto here = entries.begin(); here != entries.end();) {
        if (!referred(here->second->owner).is_none()) {
            ++here;
            continue;
        }
        dropped.push_back(here->second);
        here = entries.erase(here);
    }
}

void CallTable::clear() {
    forget();
    hits = 0;
}

void CallTable::forget() {
    decltype(entries) dropped;  // destroyed on return, since that may run Python code
    dropped.swap(entries);
}

}  // namespace sycl_dnn
