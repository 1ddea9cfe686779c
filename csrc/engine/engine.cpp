// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/fork.hpp"
#include "base/gil.hpp"
#include "engine/graph_allocator.hpp"

namespace sycl_dnn {

namespace {

struct shared_engine {
    sycl::device device;
    sycl::context context;
    dnnl::engine handle;
};

// Never destroyed: work still queued at exit refers to the handles.
dnnl::engine engine_of(const sycl::queue &queue) {
    static auto *guard = new std::mutex;
    static auto *engines = new std::list<shared_engine>;
    const sycl::device device = queue.get_device();
    const sycl::context context = queue.get_context();
    std::lock_guard<std::mutex> lock(*guard);
    for (const shared_engine &candidate : *engines)
        if (candidate.device == device && candidate.context == context) return candidate.handle;
    engines->push_back({device, context, make_graph_engine(device, context)});
    return engines->back().handle;
}

// By oneDNN's index among the devices of a kind.
py::object numbered_device(dnnl::engine::kind kind, int64_t index) {
    const std::string name = dnnl_engine_kind2str(static_cast<dnnl_engine_kind_t>(kind));
    if (kind == dnnl::engine::kind::any)
        throw invalid_arguments("Engine: kind must be cpu or gpu, got " + name);
    const int64_t count = static_cast<int64_t>(dnnl::engine::get_count(kind));
    if (count == 0) throw invalid_arguments("Engine: oneDNN finds no device of kind " + name);
    if (index < 0 || index >= count)
        throw invalid_arguments("Engine: index must be at least 0 and less than " +
                                std::to_string(count) + ", the number of devices of kind " + name +
                                ", got " + std::to_string(index));
    return make_device(dnnl::sycl_interop::get_device(dnnl::engine(kind, index)));
}

py::object queue_for(const py::object &target) {
    if (is_queue(target)) return target;
    const auto make_queue = py::module_::import("dpctl").attr("SyclQueue");
    py::detail::make_caster<dnnl::engine::kind> kind;
    // A string is a dpctl filter.
    if (py::isinstance<py::str>(target) || !kind.load(target, false)) return make_queue(target);
    return make_queue(numbered_device(kind, 0));
}

Engine make_engine(const py::object &target) {
    refuse_after_fork();
    watch_for_fork();
    const py::object queue = queue_for(target);
    const sycl::queue &native = queue_of(queue);
    dnnl::engine handle;
    {
        ReleasedGil nogil;
        handle = engine_of(native);
    }
    return {handle, queue};
}

Engine make_numbered_engine(dnnl::engine::kind kind, int64_t index) {
    refuse_after_fork();
    return make_engine(numbered_device(kind, index));
}

// A separate engine: the functions replace the pool.
Engine make_engine_with_functions(const py::object &target, size_t allocate, size_t deallocate) {
    refuse_after_fork();
    watch_for_fork();
    const py::object queue = queue_for(target);
    const sycl::queue &native = queue_of(queue);
    return {
        make_graph_engine(native.get_device(), native.get_context(),
                          reinterpret_cast<void *>(allocate), reinterpret_cast<void *>(deallocate)),
        queue};
}

}  // namespace

std::string describe(const Engine &engine) {
    return std::string(engine.is_cpu() ? "cpu" : "gpu") + " engine on " +
           std::string(py::str(engine.queue.attr("sycl_device").attr("name")));
}

void bind_engine(py::module_ &m) {
    py::class_<Engine>(m, "Engine",
                       "A device and its context, where oneDNN creates and runs primitives.")
        .def(py::init(&make_engine), py::arg("queue"),
             "From a dpctl.SyclQueue, a dpctl.SyclDevice, a filter string such as 'gpu', or an "
             "``engine_kind``.")
        .def(py::init(&make_numbered_engine), py::arg("kind"), py::arg("index") = 0,
             "From the device of that index among those of a kind, as oneDNN counts them.")
        .def_static("get_count", &dnnl::engine::get_count, py::arg("kind"),
                    "The number of devices of a kind that oneDNN finds.")
        .def_static("count", &dnnl::engine::get_count, py::arg("kind"), "The same as get_count.")
        .def_property_readonly("kind", [](const Engine &e) { return e.handle.get_kind(); })
        .def_property_readonly(
            "sycl_queue", [](const Engine &e) { return e.queue; },
            "The queue that allocations are bound to.")
        .def_property_readonly("sycl_device",
                               [](const Engine &e) { return e.queue.attr("sycl_device"); })
        .def_property_readonly("sycl_context",
                               [](const Engine &e) { return e.queue.attr("sycl_context"); })
        .def("__eq__",
             [](const Engine &a, const py::object &b) -> py::object {
                 if (!py::isinstance<Engine>(b))
                     return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 return py::bool_(a.handle.get() == b.cast<const Engine &>().handle.get());
             })
        .def("__hash__", [](const Engine &e) { return std::hash<void *>()(e.handle.get()); })
        .def("__repr__", [](const Engine &e) { return "<" + describe(e) + ">"; });
    m.def("_engine_with_functions", &make_engine_with_functions, py::arg("queue"),
          py::arg("allocate"), py::arg("deallocate"));
    m.def(
        "_event_at",
        [](size_t address) { return make_event(*reinterpret_cast<const sycl::event *>(address)); },
        py::arg("address"), "A copy of the sycl::event at that address.");
}

}  // namespace sycl_dnn
