// SPDX-License-Identifier: Apache-2.0
// SYCL's queue.wait() returns too early in one thread while another one waits: see InFlight::wait.
// Code that only uses dpnp relies on it, so no work of ours may be pending on a CPU if there is
// another thread.
#include "engine/threads.hpp"

#include <link.h>
#include <pybind11/gil_safe_call_once.h>
#include <pybind11/pybind11.h>

#include <cstring>

#include "base/fork.hpp"
#include "engine/in_flight.hpp"

namespace sycl_dnn {

namespace py = pybind11;

// All under the GIL.
static bool has_unknown_threads = false;
static unsigned long first_thread = 0;
static PyObject *active = nullptr;  // the threads that `threading` knows, by identity; never freed

static bool is_another_there() {
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return first && PyThreadState_Next(first);
}

static bool is_known(unsigned long thread) {
    const py::int_ identity(thread);
    return PyDict_Contains(active, identity.ptr()) == 1;
}

// SYCL loads its adapters when devices are listed for the first time.
static int is_adapter(dl_phdr_info *library, size_t, void *) {
    return std::strstr(library->dlpi_name, "libur_adapter_") != nullptr;
}

void prepare_dpnp() {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> done;
    done.call_once_and_store_result(
        [] { return py::module_::import("sycl_dnn._runtime").attr("use_dpnp_once")(); });
}

static void begin_thread() {
    if (was_forked()) return;
    // A process that has not used a device may still fork.
    if (dl_iterate_phdr(is_adapter, nullptr)) prepare_dpnp();
    try {
        InFlight::finish_cpu();
    } catch (...) {  // reported by the next wait for the work
    }
}

// Python has no hook for the start of a thread (3.12 has an audit event, 3.11 does not), so the
// function in `threading` that starts one is wrapped.
static void watch(const char *name) {
    const py::module_ threading = py::module_::import("threading");
    if (!py::hasattr(threading, name)) return;
    const py::object start = threading.attr(name);
    threading.attr(name) = py::cpp_function(
        [start](const py::args &args, const py::kwargs &kwargs) -> py::object {
            begin_thread();
            return start(*args, **kwargs);
        },
        py::name(name));
}

void watch_threads() {
    first_thread = PyThread_get_thread_ident();
    active = py::module_::import("threading").attr("_active").cast<py::dict>().release().ptr();
    watch("_start_new_thread");
    watch("_start_joinable_thread");  // from Python 3.13 on
}

bool has_several_threads() {
    const unsigned long thread = PyThread_get_thread_ident();
    // Threads that Python did not start are noticed when they call.
    if (thread != first_thread && !is_known(thread)) has_unknown_threads = true;
    if (thread != first_thread || PyDict_Size(active) > 1) return true;
    // The other one may be a thread of SYCL that releases Python objects.
    return has_unknown_threads && is_another_there();
}

}  // namespace sycl_dnn
