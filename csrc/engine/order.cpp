// SPDX-License-Identifier: Apache-2.0
#include "engine/order.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <chrono>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "engine/in_flight.hpp"

namespace sycl_dnn {

// dpctl 0.22 may deadlock if two threads are the first to pass it an event: one initializes a
// static variable and releases the GIL meanwhile, the other waits for it while holding the GIL.
static py::object prepared_managers() {
    const py::object managers = py::module_::import("dpctl.utils").attr("SequentialOrderManager");
    const py::object none = make_event(sycl::event());
    py::module_::import("dpctl.utils._seq_order_keeper")
        .attr("_OrderManager")(1)
        .attr("add_to_both_events")(none, none);
    return managers;
}

static const py::object &order_managers() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> managers;
    return managers.call_once_and_store_result(&prepared_managers).get_stored();
}

void prepare_order() { order_managers(); }

// The map is looked up in each call because it depends on the context of contextvars.
static py::object manager_of(const py::object &queue) {
    return or_park([&]() -> py::object { return order_managers()[queue]; });
}

static py::object checked(PyObject *result) {
    if (!result) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
}

#if PY_VERSION_HEX < 0x030D0000
#define Py_IsFinalizing _Py_IsFinalizing
#endif

// Waits without the GIL, which the call whose turn it is may need. Ctrl-C interrupts it. At the end
// of the interpreter a daemon thread never gives its turn away.
static std::unique_lock<std::recursive_timed_mutex> turn_of(const Stream &stream) {
    std::unique_lock turn(stream.flight->turn, std::try_to_lock);
    while (!turn && !Py_IsFinalizing()) {
        refuse_after_fork();
        {
            ReleasedGil nogil;
            (void)turn.try_lock_for(std::chrono::milliseconds(20));
        }
        if (!turn && PyErr_CheckSignals()) throw py::error_already_set();
    }
    return turn;
}

OrderedCall::OrderedCall(const Stream &stream, std::vector<sycl::event> &depends) {
    if (!stream.ordered) return;
    turn = turn_of(stream);
    follow(stream.queue, depends);
}

void OrderedCall::follow_array(const Stream &stream, const sycl::queue *queue, py::handle array,
                               std::vector<sycl::event> &depends) {
    if (stream.ordered && queue && *queue != stream.flight->queue)
        follow(array.attr("sycl_queue"), depends);
}

static void append_events_of(const py::object &manager, std::vector<sycl::event> &depends) {
    static PyObject *const events = PyUnicode_InternFromString("submitted_events");
    append_events(checked(or_park([&] { return PyObject_GetAttr(manager.ptr(), events); })),
                  depends);
}

void OrderedCall::follow(const py::object &queue, std::vector<sycl::event> &depends) {
    managers.push_back(manager_of(queue));
    append_events_of(managers.back(), depends);
}

bool is_idle(const Stream &stream) {
    if (!stream.flight->is_cpu) return false;
    stream.flight->prune();
    std::vector<sycl::event> events;
    append_events_of(manager_of(stream.queue), events);
    return std::all_of(events.begin(), events.end(), is_complete);
}

void OrderedCall::submitted(const py::object &event) const {
    static PyObject *const add = PyUnicode_InternFromString("add_event_pair");
    for (const py::object &manager : managers) {
        PyObject *const args[] = {manager.ptr(), event.ptr(), event.ptr()};
        checked(or_park([&] { return PyObject_VectorcallMethod(add, args, 3, nullptr); }));
    }
}

}  // namespace sycl_dnn
