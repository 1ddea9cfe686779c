// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of the Graph API.
#include "base/errors.hpp"
#include "base/gil.hpp"
#include "engine/device_pool.hpp"
#include "engine/stream.hpp"
#include "graph/graph_types.hpp"

namespace sycl_dnn {

static dnnl::engine::kind kind_from(const py::object &kind) {
    return enum_of<dnnl::engine::kind>("engine_kind", kind, "engine_kind");
}

void bind_graph_settings(py::module_ &m) {
    m.def("get_compiled_partition_cache_capacity", &graph::get_compiled_partition_cache_capacity);
    m.def(
        "set_compiled_partition_cache_capacity",
        [](int capacity) {
            if (capacity < 0)
                throw invalid_arguments(
                    "set_compiled_partition_cache_capacity: capacity must not be negative, got " +
                    std::to_string(capacity));
            ReleasedGil nogil;  // evicted partitions may wait for the device
            graph::set_compiled_partition_cache_capacity(capacity);
        },
        py::arg("capacity"), "Number of compiled partitions that oneDNN keeps; 0 keeps none.");
    m.def(
        "get_constant_tensor_cache_capacity",
        [](const py::object &kind) {
            return graph::get_constant_tensor_cache_capacity(kind_from(kind));
        },
        py::arg("engine_kind"));
    m.def(
        "set_constant_tensor_cache_capacity",
        [](const py::object &kind, size_t megabytes) {
            const auto engine_kind = kind_from(kind);
            ReleasedGil nogil;
            graph::set_constant_tensor_cache_capacity(engine_kind, megabytes);
        },
        py::arg("engine_kind"), py::arg("megabytes"),
        "Memory for what oneDNN derives from constant tensors; 0 disables the cache. Its keys are "
        "the addresses of the constants, whose memory must not be written or freed meanwhile.");
    m.def(
        "set_graph_dump_mode",
        [](unsigned modes) {
            const auto status = graph::set_dump_mode(static_cast<graph::graph_dump_mode>(modes));
            if (status != graph::status::success)
                raise_status(static_cast<dnnl_status_t>(status),
                             "set_graph_dump_mode: modes must be a combination of "
                             "graph_dump_mode, got " +
                                 std::to_string(modes));
        },
        py::arg("modes"), "Write graphs or partitions as JSON into the current folder.");
    m.def(
        "graph_pool_info", [] { return info_of(graph_memory()); },
        "The buffers of oneDNN's graphs: their number, their bytes, and how many are in use.");
    m.def(
        "clear_graph_pool", [] { graph_memory().clear(); }, py::call_guard<ReleasedGil>(),
        "Free the unused buffers of graphs.");
}

}  // namespace sycl_dnn
