// SPDX-License-Identifier: Apache-2.0
// What is done at exit, while Python, SYCL and the drivers still stand. Static objects of a process
// are destroyed in an order that nobody knows here. Ours are not destroyed at all; oneDNN's caches
// are, and hold what belongs to a device. They release it now.
#include "at_exit.hpp"

#include <oneapi/dnnl/dnnl_graph.hpp>

#include "fork.hpp"
#include "gil.hpp"
#include "host_lane.hpp"
#include "in_flight.hpp"

namespace sycl_dnn {

// Not that of constant tensors, which lists all devices where it is asked for the first time: it is
// off unless somebody has turned it on, and then his to empty.
static void empty_caches() {
    dnnl::graph::set_compiled_partition_cache_capacity(0);
    dnnl::set_primitive_cache_capacity(0);
}

// The interpreter has gone, and what daemon threads had begun has not.
static void finish_late() {
    if (was_forked()) return;
    ReleasedGil::wait_for_all();
    InFlight::wait_for_all();
    HostLane::finish();
}

static void finish() {
    if (was_forked()) return;
    InFlight::finish_all();
    ReleasedGil nogil;
    HostLane::finish();
    empty_caches();
}

void bind_exit(py::module_ &) {
    Py_AtExit(&finish_late);  // fails where 32 others have asked: then nobody waits
    py::module_::import("atexit").attr("register")(py::cpp_function(&finish));
}

}  // namespace sycl_dnn
