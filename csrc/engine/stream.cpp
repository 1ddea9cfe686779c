// SPDX-License-Identifier: Apache-2.0
#include "engine/stream.hpp"

#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <optional>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "engine/device_pool.hpp"
#include "engine/in_flight.hpp"
#include "engine/order.hpp"
#include "engine/threads.hpp"

namespace sycl_dnn {

// oneDNN compares only the device kind and silently accepts a queue with another context.
static void check_queue(const Engine &engine, const sycl::queue &queue) {
    const sycl::queue &engine_queue = queue_of(engine.queue);
    if (queue.get_device() == engine_queue.get_device() &&
        queue.get_context() == engine_queue.get_context())
        return;
    throw invalid_arguments("Stream: queue must be on the engine's device and context (" +
                            describe(engine) + "), got a queue on " +
                            queue.get_device().get_info<sycl::info::device::name>());
}

// Without a queue, in-order by default, as in C++.
static Stream make_stream(const Engine &engine, const py::object &queue,
                          std::optional<bool> ordered) {
    refuse_after_fork();
    prepare_order();
    if (has_several_threads()) prepare_dpnp();
    const py::object chosen = queue.is_none() ? engine.queue : queue;
    sycl::queue &native = queue_of(chosen);
    check_queue(engine, native);
    return {dnnl::sycl_interop::make_stream(engine.handle, native),
            engine,
            chosen,
            InFlight::of(native),
            &scratchpads().of(native.get_device(), native.get_context(), engine.handle),
            ordered.value_or(queue.is_none())};
}

static void wait(const Stream &stream, const py::object &depends) {
    std::vector<sycl::event> events;
    append_events(depends, events);
    stream.flight->wait(std::move(events));
}

static dnnl::stream::flags flags_of(const Stream &stream) {
    const bool in_order = stream.ordered || queue_of(stream.queue).is_in_order();
    return in_order ? dnnl::stream::flags::in_order : dnnl::stream::flags::out_of_order;
}

py::dict info_of(DevicePools &pools) {
    const auto total = pools.total();
    py::dict info;
    info["buffers"] = total.buffers;
    info["nbytes"] = total.nbytes;
    info["busy"] = total.busy;
    return info;
}

void bind_stream(py::module_ &m) {
    py::class_<Stream>(m, "Stream", "A queue on which primitives of one engine are executed.")
        .def(
            py::init(&make_stream), py::arg("engine"), py::arg("queue") = py::none(), py::kw_only(),
            py::arg("ordered") = py::none(),
            "``queue`` defaults to the engine's. ``ordered=True``, the default without a queue, "
            "puts executions into one sequence with what dpnp submits to the queue; "
            "``ordered=False``, the default with one, orders them only by the events of each call.")
        .def_property_readonly("engine", [](const Stream &s) { return s.engine; })
        .def_property_readonly("sycl_queue", [](const Stream &s) { return s.queue; })
        .def_readonly("ordered", &Stream::ordered)
        .def_property_readonly("flags", &flags_of, "in_order or out_of_order.")
        .def_property_readonly(
            "pending", [](const Stream &s) { return s.flight->size(); },
            "The number of executions whose memories are still held.")
        .def(
            "let_go", [](const Stream &s) { s.flight->prune_if_cheap(); },
            "Release what finished executions used, without waiting; on a CPU only.")
        .def("wait", &wait, py::arg("depends") = py::tuple(),
             "Wait until the events ``depends`` and all work on the queue are complete; other "
             "threads "
             "run meanwhile, and Ctrl-C raises KeyboardInterrupt.");
    m.def(
        "scratchpad_info", [] { return info_of(scratchpads()); },
        "The scratchpad buffers of the process: their number, their bytes, and how many are in "
        "use.");
    // Freeing may wait for the device.
    m.def(
        "clear_scratchpads", [] { scratchpads().clear(); }, py::call_guard<ReleasedGil>(),
        "Free the unused scratchpad buffers.");
}

}  // namespace sycl_dnn
