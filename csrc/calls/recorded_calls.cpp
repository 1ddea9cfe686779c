// SPDX-License-Identifier: Apache-2.0
#include "calls/recorded_calls.hpp"

#include "base/dpctl_api.hpp"
#include "base/fast_method.hpp"

namespace sycl_dnn {

namespace {

// A new value of a run, as RecordedTensor's constructor makes it.
py::object new_value(const ArrayTypes &types, const py::object &recording, py::list &seen,
                     const py::tuple &description, py::object marks) {
    py::object tensor = new_instance(types.recorded);
    const RecordedSlots &slots = types.slots;
    const auto fill = [&](Py_ssize_t offset, py::object value) {
        slot_at(tensor, offset) = value.release().ptr();
    };
    fill(slots.recording, recording);
    fill(slots.number, py::int_(seen.size()));
    fill(slots.shape, description[0]);
    fill(slots.dtype, description[1]);
    fill(slots.strides, description[2]);
    fill(slots.marks, std::move(marks));
    seen.append(tensor);
    return tensor;
}

py::object marks_of(const ArrayTypes &types, py::handle source) {
    if (!py::type::handle_of(source).is(types.recorded)) return py::list();
    return py::reinterpret_borrow<py::object>(slot_at(source, types.slots.marks));
}

}  // namespace

py::object repeat_recorded(const ArrayTypes &types, const CallKey &key, const py::tuple &args,
                           const py::dict &kwargs) {
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    if (!key.is_known || !key.arrays.empty()) return missed;
    auto &run = key.recording.cast<RecordedRun &>();
    if (run.is_traced || run.point.is_none()) return missed;
    const auto &point = run.point.cast<const CallPoint &>();
    const auto position = point.next.find(key.bytes);
    if (position == point.next.end()) return missed;
    const std::shared_ptr<RecordedCall> call = position->second;
    run.calls.append(py::make_tuple(call->body, args, kwargs, call->settings, run.seen.size()));
    run.point = call->after;
    if (call->description.is_none())
        return call->is_view ? call->results.attr("build_views")(key.recording, args[0])
                             : call->results.attr("build")(key.recording);
    if (!call->is_view)
        return new_value(types, key.recording, run.seen, call->description, py::list());
    py::object marks = marks_of(types, args[0]);
    run.viewed.add(py::int_(reinterpret_cast<uintptr_t>(marks.ptr())));
    return new_value(types, key.recording, run.seen, call->description, std::move(marks));
}

py::object recorded_argument(const ArrayTypes &types, py::handle run_object, py::handle value,
                             py::handle marks) {
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    if (!py::type::handle_of(value).is(types.ndarray)) return missed;
    const py::object description = types.described(value);
    if (!description) return missed;
    auto &run = run_object.cast<RecordedRun &>();
    if (!run.queue) {
        const py::object array = types.array_of(value);
        run.queue = buffer_of(usm_array(array, types.usm_ndarray)->base).queue;
    }
    return new_value(types, py::reinterpret_borrow<py::object>(run_object), run.seen, description,
                     py::reinterpret_borrow<py::object>(marks));
}

py::object repeat_capture(const ArrayTypes &types, const CallKey &key, py::handle run_object,
                          py::handle value, py::handle marks) {
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    auto &run = run_object.cast<RecordedRun &>();
    if (!key.is_known || key.queue != run.queue || run.is_traced || run.point.is_none())
        return missed;
    const auto &point = run.point.cast<const CallPoint &>();
    const auto position = point.next.find(key.bytes);
    if (position == point.next.end()) return missed;
    const std::shared_ptr<RecordedCall> call = position->second;
    const auto owner = py::reinterpret_borrow<py::object>(run_object);
    run.calls.append(py::make_tuple(call->body, py::make_tuple(owner, run.held.size()), py::dict(),
                                    call->settings, run.seen.size()));
    run.held.append(value);
    run.point = call->after;
    return new_value(types, owner, run.seen, call->description,
                     py::reinterpret_borrow<py::object>(marks));
}

void remember_capture(CallPoint &point, CallKey &&key, RecordedCall call) {
    if (!key.is_known) return;
    call.holds = std::move(key.holds);
    point.next[key.bytes] = std::make_shared<RecordedCall>(std::move(call));
}

void remember_recorded(CallPoint &point, CallKey &&key, RecordedCall call) {
    if (!key.is_known || !key.recording || !key.arrays.empty()) return;
    call.holds = std::move(key.holds);
    point.next[key.bytes] = std::make_shared<RecordedCall>(std::move(call));
}

}  // namespace sycl_dnn
