// SPDX-License-Identifier: Apache-2.0
#include "calls/reverse_call.hpp"

#include <algorithm>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fast_method.hpp"
#include "base/fork.hpp"
#include "engine/stream.hpp"

namespace sycl_dnn {

// Maximum number of gradient structures and layouts per plan.
static constexpr size_t most_keys = 8;

py::tuple saved_values(const CallFrame &frame, const CallPlan &plan, const py::object &stream,
                       const py::object &pool) {
    py::tuple arrays(plan.saved.size());
    for (size_t i = 0; i < plan.saved.size(); ++i) arrays[i] = frame.arrays[plan.saved[i]];
    py::object frozen = py::none();
    if (!frame.frozen.empty()) {
        py::dict by_number;
        for (const auto &[number, value] : frame.frozen) by_number[py::int_(number)] = value;
        frozen = by_number;
    }
    return py::make_tuple(stream, pool, frame.kind, arrays, frozen);
}

py::object pullback_of(const py::object &type, const py::object &plan, const py::tuple &saved) {
    py::object pullback = new_instance(type);
    py::setattr(pullback, "_plan", plan);
    py::setattr(pullback, "_kept", saved);
    return pullback;
}

ReverseCall::ReverseCall(ArrayTypes t, std::shared_ptr<CallPlan> p)
    : types(std::move(t)), plan(std::move(p)) {}

CallKey ReverseCall::key_of(py::handle dy) const {
    CallKey key(types);
    key.add(dy);
    key.is_known &= !key.arrays.empty();
    return key;
}

void ReverseCall::remember(const py::object &dy, const py::list &arrays) {
    CallKey key = key_of(dy);
    if (!key.are_arrays(arrays) || !key.frozen.empty() || keys.size() == most_keys) return;
    if (std::find(keys.begin(), keys.end(), key.bytes) == keys.end()) keys.push_back(key.bytes);
}

py::object ReverseCall::call(py::handle saved, py::handle dy) const {
    refuse_after_fork();
    const auto missed = py::reinterpret_borrow<py::object>(Py_NotImplemented);
    CallKey key = key_of(dy);
    if (!key.is_known || std::find(keys.begin(), keys.end(), key.bytes) == keys.end())
        return missed;
    const auto fields = py::reinterpret_borrow<py::tuple>(saved);
    const py::object stream = fields[0], pool = fields[1], kind = fields[2];
    const Stream &native_stream = native<Stream>(stream.ptr());
    const auto *queue = static_cast<const sycl::queue *>(key.queue);
    if (!(*queue == queue_of(native_stream.queue))) return missed;
    CallFrame frame(std::move(key), kind);
    for (const py::handle array : fields[3].cast<py::tuple>())
        frame.arrays.push_back(py::reinterpret_borrow<py::object>(array));
    frame.add_frozen(fields[4]);
    if (!submit_call(types, *plan, native_stream, native<ResultPool>(pool.ptr()), frame))
        return missed;
    return results_of(types, *plan, frame);
}

}  // namespace sycl_dnn
