// SPDX-License-Identifier: Apache-2.0
#include "base/dpctl_api.hpp"

#include <sycl/sycl.hpp>

#include "base/dpctl_programs.hpp"

// clang-format off: dpctl's generated headers need this order.
#include "syclinterface/dpctl_data_types.h"
#include "syclinterface/dpctl_sycl_types.h"
#include "syclinterface/dpctl_sycl_extension_interface.h"
#ifndef CYTHON_EXTERN_C
#define CYTHON_EXTERN_C extern "C"
#endif
#include "dpctl/_sycl_queue.h"
#include "dpctl/_sycl_queue_api.h"
#include "dpctl/_sycl_event.h"
#include "dpctl/_sycl_event_api.h"
#include "dpctl/_sycl_context.h"
#include "dpctl/_sycl_device.h"
#include "dpctl/_sycl_device_api.h"
#include "dpctl/memory/_memory.h"
#include "dpctl/memory/_memory_api.h"
#include "dpctl/program/_program.h"
#include "dpctl/program/_program_api.h"
// clang-format on

namespace sycl_dnn {

static std::string type_name(py::handle object) { return Py_TYPE(object.ptr())->tp_name; }

void import_dpctl() {
    if (import_dpctl___sycl_device() < 0 || import_dpctl___sycl_queue() < 0 ||
        import_dpctl___sycl_event() < 0 || import_dpctl__memory___memory() < 0 ||
        import_dpctl__program___program() < 0)
        throw py::error_already_set();
}

bool is_queue(py::handle object) { return PyObject_TypeCheck(object.ptr(), &PySyclQueueType); }

sycl::queue &queue_of(py::handle object, const char *argument) {
    if (!is_queue(object))
        throw py::type_error(std::string(argument) + " must be a dpctl.SyclQueue, got " +
                             type_name(object));
    auto *queue = reinterpret_cast<PySyclQueueObject *>(object.ptr());
    return *reinterpret_cast<sycl::queue *>(SyclQueue_GetQueueRef(queue));
}

py::object make_device(const sycl::device &device) {
    auto *ref = reinterpret_cast<DPCTLSyclDeviceRef>(const_cast<sycl::device *>(&device));
    auto *object = reinterpret_cast<PyObject *>(SyclDevice_Make(ref));
    if (!object) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(object);
}

static sycl::event &event_of(py::handle object) {
    if (!PyObject_TypeCheck(object.ptr(), &PySyclEventType))
        throw py::type_error("depends must hold dpctl.SyclEvent objects, got " + type_name(object));
    auto *event = reinterpret_cast<PySyclEventObject *>(object.ptr());
    return *reinterpret_cast<sycl::event *>(SyclEvent_GetEventRef(event));
}

void append_events(py::handle sequence, std::vector<sycl::event> &events) {
    auto fast = py::reinterpret_steal<py::object>(
        PySequence_Fast(sequence.ptr(), "depends must be a sequence of dpctl.SyclEvent"));
    if (!fast) throw py::error_already_set();
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
    events.reserve(events.size() + n + 1);
    for (Py_ssize_t i = 0; i < n; ++i)
        events.push_back(event_of(PySequence_Fast_GET_ITEM(fast.ptr(), i)));
}

sycl::kernel kernel_of(py::handle object) {
    if (!PyObject_TypeCheck(object.ptr(), &PySyclKernelType))
        throw py::type_error("kernel must be a dpctl.program.SyclKernel, got " + type_name(object));
    auto *kernel = reinterpret_cast<PySyclKernelObject *>(object.ptr());
    return *reinterpret_cast<sycl::kernel *>(SyclKernel_GetKernelRef(kernel));
}

program_bundle bundle_of(py::handle object) {
    if (!PyObject_TypeCheck(object.ptr(), &PySyclProgramType))
        throw py::type_error("program must be a dpctl.program.SyclProgram, got " +
                             type_name(object));
    auto *program = reinterpret_cast<PySyclProgramObject *>(object.ptr());
    return *reinterpret_cast<program_bundle *>(SyclProgram_GetKernelBundleRef(program));
}

py::object make_sycl_program(const program_bundle &bundle) {
    auto *ref = reinterpret_cast<DPCTLSyclKernelBundleRef>(const_cast<program_bundle *>(&bundle));
    auto *object = reinterpret_cast<PyObject *>(SyclProgram_Make(ref));
    if (!object) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(object);
}

py::object make_event(const sycl::event &event) {
    auto *ref = reinterpret_cast<DPCTLSyclEventRef>(const_cast<sycl::event *>(&event));
    auto *object = reinterpret_cast<PyObject *>(SyclEvent_Make(ref));
    if (!object) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(object);
}

usm_buffer buffer_of(py::handle object) {
    if (!PyObject_TypeCheck(object.ptr(), &Py_MemoryType))
        throw py::type_error("buffer must be a dpctl.memory object, got " + type_name(object));
    auto *memory = reinterpret_cast<Py_MemoryObject *>(object.ptr());
    return {reinterpret_cast<char *>(Memory_GetUsmPointer(memory)), Memory_GetNumBytes(memory),
            reinterpret_cast<sycl::queue *>(Memory_GetQueueRef(memory))};
}

}  // namespace sycl_dnn
