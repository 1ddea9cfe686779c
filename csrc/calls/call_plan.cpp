// SPDX-License-Identifier: Apache-2.0
#include "calls/call_plan.hpp"

#include <algorithm>
#include <cstring>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fast_method.hpp"
#include "base/fork.hpp"
#include "engine/in_flight.hpp"
#include "engine/threads.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

namespace {

py::object usm_array_of(const ArrayTypes &types, py::handle array) {
    auto *kind = reinterpret_cast<PyObject *>(Py_TYPE(array.ptr()));
    if (kind == types.usm_ndarray.ptr()) return py::reinterpret_borrow<py::object>(array);
    return kind == types.ndarray.ptr() ? types.array_of(array) : array.attr("get_array")();
}

char *address(const ArrayTypes &types, py::handle array) {
    const UsmArray *fields = usm_array(array, types.usm_ndarray);
    return fields ? fields->data : address_of(array);
}

bool fill_constants(const CallPlan &plan, CallFrame &frame) {
    for (const CallPlan::packed &c : plan.constants) {
        const auto is_source = [&](const auto &f) { return f.first == c.source; };
        const auto argument = std::find_if(frame.frozen.begin(), frame.frozen.end(), is_source);
        if (c.frozen.is_none() && argument == frame.frozen.end()) return false;
        const py::object &frozen = c.frozen.is_none() ? argument->second : c.frozen;
        const py::dict copies = frozen.attr("packed");
        PyObject *copy = PyDict_GetItemWithError(copies.ptr(), c.recipe.ptr());
        if (!copy) return false;
        frame.arrays[c.number] = py::reinterpret_borrow<py::object>(copy);
    }
    return true;
}

// Fills in what differs from call to call: seeds among the arguments, and what is drawn or
// computed for each call.
void place_numbers(const ArrayTypes &types, const CallPlan &plan, const py::object &queue,
                   ResultPool &pool, CallFrame &frame) {
    for (size_t i = 0; i < frame.arguments.size(); ++i)
        if (!frame.arrays[i]) frame.arrays[i] = frame.arguments[i].attr("array")(queue);
    if (plan.numbers.empty()) return;
    const py::list values = py::cast(frame.numbers);
    for (const auto &[number, bytes, kind, blank] : plan.numbers) {
        const std::string content = py::bytes(bytes(values));
        frame.arrays[number] = pool.numbers().take_array(types, kind, blank);
        char *const to = address(types, frame.arrays[number]);
        std::memcpy(to, content.data(), std::min(content.size(), blank.nbytes));
    }
}

bool place_arrays(const ArrayTypes &types, const CallPlan &plan, const Stream &stream,
                  ResultPool &pool, CallFrame &frame) {
    frame.arrays.resize(plan.n_arrays);
    for (const auto &[number, value] : plan.captured)
        frame.arrays[number] = usm_array_of(types, value);
    if (!fill_constants(plan, frame)) return false;
    place_numbers(types, plan, stream.queue, pool, frame);
    const size_t result = frame.out ? plan.form.single() : ResultForm::none;
    // Another thread may be between reading the events on the queue and adding its own.
    const bool is_in_order = stream.ordered && !has_several_threads();
    const InFlight *before = is_in_order ? stream.flight.get() : nullptr;
    for (const auto &[number, blank] : plan.blanks)
        frame.arrays[number] =
            number == result ? frame.out : pool.take_array(types, frame.kind, blank, before);
    return true;
}

}  // namespace

CallFrame::CallFrame(CallKey &&key, py::handle k)
    : arrays(std::move(key.arrays)),
      arguments(std::move(key.arguments)),
      frozen(std::move(key.frozen)),
      numbers(std::move(key.numbers)),
      out(std::move(key.out)),
      kind(k) {}

CallFrame::CallFrame(py::handle of_arrays, py::handle of_arguments, const std::vector<double> &n,
                     py::handle k)
    : numbers(n), kind(k) {
    for (const py::handle array : py::reinterpret_borrow<py::sequence>(of_arrays))
        arrays.push_back(PyBytes_CheckExact(array.ptr())
                             ? py::object()
                             : py::reinterpret_borrow<py::object>(array));
    for (const py::handle argument : py::reinterpret_borrow<py::sequence>(of_arguments))
        arguments.push_back(py::reinterpret_borrow<py::object>(argument));
}

void CallFrame::add_frozen(py::handle by_number) {
    if (by_number.is_none()) return;
    for (const auto &[number, value] : by_number.cast<py::dict>())
        frozen.emplace_back(number.cast<size_t>(), py::reinterpret_borrow<py::object>(value));
}

bool submit_call(const ArrayTypes &types, const CallPlan &plan, const Stream &stream,
                 ResultPool &pool, CallFrame &frame) {
    stream.flight->prune_if_cheap();
    if (!place_arrays(types, plan, stream, pool, frame)) return false;
    std::vector<char *> addresses;
    addresses.reserve(plan.reads.size());
    owner_list owners;
    owners.reserve(plan.reads.size() + 2);
    owners.push_back(plan.owner);
    for (const size_t number : plan.reads) {
        addresses.push_back(address(types, frame.arrays[number]));
        owners.push_back(frame.arrays[number]);
    }
    if (plan.sequence)
        run_partitions(*plan.sequence, stream, addresses, std::move(owners));
    else
        run_over(*plan.program, stream, addresses, std::move(owners));
    return true;
}

py::object results_of(const ArrayTypes &types, const CallPlan &plan, const CallFrame &frame) {
    const auto array = [&](size_t number, const py::object &carried_dtype) {
        const py::object ndarray = types.wrapped(frame.arrays[number]);
        return carried_dtype.is_none() ? ndarray : types.carried(ndarray, carried_dtype);
    };
    return plan.form.build(array, frame.arguments);
}

py::object run_plan(const ArrayTypes &types, const CallPlan &plan, py::handle kept,
                    py::handle arguments, py::handle numbers) {
    refuse_after_fork();
    const auto fields = py::reinterpret_borrow<py::tuple>(kept);
    const py::object stream = fields[0], pool = fields[1], kind = fields[2];
    const py::object arrays = fields[3];
    CallFrame frame(arrays, arguments, numbers.cast<std::vector<double>>(), kind);
    frame.add_frozen(fields[4]);
    if (!submit_call(types, plan, native<Stream>(stream.ptr()), native<ResultPool>(pool.ptr()),
                     frame))
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return results_of(types, plan, frame);
}

}  // namespace sycl_dnn
