// SPDX-License-Identifier: Apache-2.0
// What is done at exit, while Python, SYCL and the drivers still stand. Static objects of a process
// are destroyed in an order that nobody knows here. Ours are not destroyed at all; oneDNN's caches
// are, and hold what belongs to a device. They let go of it now.
#include "at_exit.hpp"

#include <oneapi/dnnl/dnnl_graph.hpp>

#include "fork.hpp"
#include "host_lane.hpp"
#include "in_flight.hpp"

namespace sycl_dnn {

static void empty_caches() {
    using kind = dnnl::engine::kind;
    dnnl::graph::set_compiled_partition_cache_capacity(0);
    for (const kind k : {kind::cpu, kind::gpu})
        dnnl::graph::set_constant_tensor_cache_capacity(k, 0);
    dnnl::set_primitive_cache_capacity(0);
}

static void finish() {
    if (was_forked()) return;
    InFlight::finish_all();
    py::gil_scoped_release nogil;
    HostLane::finish();
    empty_caches();
}

void bind_exit(py::module_ &) {
    py::module_::import("atexit").attr("register")(py::cpp_function(&finish));
}

}  // namespace sycl_dnn
