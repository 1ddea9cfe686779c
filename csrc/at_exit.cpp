// SPDX-License-Identifier: Apache-2.0
// Cleanup at exit, while Python, SYCL and the drivers still work. Static objects of a process are
// destroyed in an unknown order: ours never are; oneDNN's caches are, and hold device resources, so
// they are emptied here.
#include "at_exit.hpp"

#include <oneapi/dnnl/dnnl_graph.hpp>

#include "base/fork.hpp"
#include "base/gil.hpp"
#include "engine/host_lane.hpp"
#include "engine/in_flight.hpp"
#include "program/program_build.hpp"

namespace sycl_dnn {

// Not the constant tensor cache, whose first use lists all devices: it is off by default, and a
// program that enables it must empty it.
static void empty_caches() {
    dnnl::graph::set_compiled_partition_cache_capacity(0);
    dnnl::set_primitive_cache_capacity(0);
}

// The interpreter has ended, but work submitted by daemon threads may still be running.
static void finish_late() {
    if (was_forked()) return;
    ProgramBuild::finish();
    ReleasedGil::wait_for_all();
    InFlight::wait_for_all();
    HostLane::finish();
}

static void finish() {
    if (was_forked()) return;
    InFlight::finish_all();
    {
        ReleasedGil nogil;
        ProgramBuild::finish();
        HostLane::finish();
    }
    ProgramBuild::keep_done();
    empty_caches();
}

void bind_exit(py::module_ &) {
    Py_AtExit(&finish_late);  // fails, without effect, if 32 functions are registered
    py::module_::import("atexit").attr("register")(py::cpp_function(&finish));
}

}  // namespace sycl_dnn
