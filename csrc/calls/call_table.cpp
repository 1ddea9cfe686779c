// SPDX-License-Identifier: Apache-2.0
#include "calls/call_table.hpp"

#include <algorithm>

#include "base/fast_method.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "calls/recorded_calls.hpp"
#include "calls/reverse_call.hpp"
#include "memory/watched_spans.hpp"

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
    key.holds_frozen = rules.of_compiled;
    // With constants, Python counts numbers in the order of the function's parameters.
    key.numbers_vary = rules.of_compiled && !has_constants;
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

// Whether the captured values are unchanged since the plan was created.
static bool holds(const py::object &guard) {
    if (guard.is_none()) return true;
    const py::object check = referred(guard);
    if (check.is_none()) return false;
    PyObject *result = or_park([&] { return PyObject_CallNoArgs(check.ptr()); });
    if (!result) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result).is(py::bool_(true));
}

std::shared_ptr<CallTable::entry> CallTable::entry_of(CallKey &key) const {
    auto position = entries.find(key.bytes);
    if (position != entries.end() && !position->second->plan) {
        key.add_numbers(position->second->fixed);
        position = entries.find(key.bytes);
    }
    return position == entries.end() ? nullptr : position->second;
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
    const std::shared_ptr<entry> match = entry_of(key);
    if (!match) return missed;
    const py::object owner = referred(match->owner);
    if (owner.is_none() || !holds(match->guard)) {
        // Another call may have replaced the entry while the guard ran.
        const auto current = entries.find(key.bytes);
        if (current != entries.end() && current->second == match) entries.erase(current);
        return missed;
    }
    match->used = ++n_calls;
    const py::object result = run(*match, std::move(key), out);
    if (result.is(missed)) return missed;
    ++hits;
    return result;
}

namespace {

void note_write(const UsmArray &fields) {
    const usm_buffer whole = buffer_of(fields.base);
    WatchedSpans::note_write(reinterpret_cast<uintptr_t>(whole.pointer),
                             reinterpret_cast<uintptr_t>(whole.pointer + whole.nbytes));
}

}  // namespace

py::object CallTable::run(const entry &e, CallKey &&key, py::handle given_out) const {
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    const CallPlan &plan = *e.plan;
    const py::handle kind = types.memory_of(key.memory_rank);
    const Stream &stream = native<Stream>(e.stream.ptr());
    CallFrame frame(std::move(key), kind);
    if (!submit_call(types, plan, stream, native<ResultPool>(e.pool.ptr()), frame)) return missed;
    if (frame.out) note_write(*usm_array(frame.out, types.usm_ndarray));
    if (frame.out) return py::reinterpret_borrow<py::object>(given_out);
    const py::object result = results_of(types, plan, frame);
    if (e.reverse.is_none()) return result;
    return py::make_tuple(result, pullback_of(e.reverse, referred(e.owner),
                                              saved_values(frame, plan, e.stream, e.pool)));
}

void CallTable::remember(py::handle subject, py::handle args, py::handle kwargs, py::handle out,
                         const py::list &arrays, const std::vector<double> &numbers, entry added) {
    CallKey key = key_of(subject, args, kwargs, out, true);
    if (!key.are_arrays(arrays)) return;
    if (key.numbers_vary && !key.are_numbers(numbers)) return;
    if (key.out && added.plan->form.single() == ResultForm::none) return;
    // Entries of evicted plans are noticed only on lookup.
    if (entries.size() >= 2 * capacity) forget();
    // The key includes the queue's address, which must not be reused for another queue.
    const auto is_array = [](const py::object &array) { return bool(array); };
    const auto first = std::find_if(key.arrays.begin(), key.arrays.end(), is_array);
    // A call that takes only seeds has a queue by its `out`.
    const py::object &placed = first == key.arrays.end() ? key.out : *first;
    key.holds.push_back(placed.attr("sycl_queue"));
    added.holds = std::move(key.holds);
    if (!added.fixed.empty()) {
        replace(key.bytes, {nullptr, added.owner, {}, {}, {}, {}, {}, {}, 0, added.fixed});
        key.add_numbers(added.fixed);
    }
    replace(key.bytes, std::move(added));
}

void CallTable::replace(const std::string &bytes, entry added) {
    const auto shared = std::make_shared<entry>(std::move(added));
    std::shared_ptr<entry> &place = entries[bytes];
    const std::shared_ptr<entry> dropped = std::exchange(place, shared);
}

void CallTable::remember_run(CallPoint &point, py::handle subject, py::handle args,
                             py::handle kwargs, RecordedCall call) const {
    remember_recorded(point, key_of(subject, args, kwargs, py::none(), true), std::move(call));
}

py::object CallTable::argument(py::handle run, py::handle value, py::handle marks) const {
    return recorded_argument(types, run, value, marks);
}

py::object CallTable::capture(py::handle subject, py::handle run, py::handle value,
                              py::handle marks) const {
    CallKey key(types);
    key.add_identity(subject);
    key.add(value);
    return repeat_capture(types, key, run, value, marks);
}

void CallTable::remember_capture(CallPoint &point, py::handle subject, py::handle value,
                                 RecordedCall call) const {
    CallKey key(types, true);
    key.add_identity(subject);
    key.add(value);
    sycl_dnn::remember_capture(point, std::move(key), std::move(call));
}

std::vector<py::object> CallTable::used() {
    std::vector<entry *> used_entries;
    for (const auto &[bytes, e] : entries)
        if (e->used) used_entries.push_back(e.get());
    std::sort(used_entries.begin(), used_entries.end(),
              [](auto *a, auto *b) { return a->used < b->used; });
    std::vector<py::object> keys;
    for (entry *e : used_entries) {
        keys.push_back(e->key);
        e->used = 0;
    }
    return keys;
}

void CallTable::forget_dropped() {
    std::vector<std::shared_ptr<entry>> dropped;  // destroyed on return, as in `forget`
    for (auto position = entries.begin(); position != entries.end();) {
        if (!referred(position->second->owner).is_none()) {
            ++position;
            continue;
        }
        dropped.push_back(position->second);
        position = entries.erase(position);
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
