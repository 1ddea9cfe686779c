// SPDX-License-Identifier: Apache-2.0
#include "memory/placement.hpp"

#include <sycl/sycl.hpp>

#include "base/errors.hpp"

namespace sycl_dnn {

// The device itself, or its root device.
static sycl::device whole_of(sycl::device device) {
    using sycl::info::partition_property;
    const auto is_part = [](const sycl::device &d) {
        return d.get_info<sycl::info::device::partition_type_property>() !=
               partition_property::no_partition;
    };
    while (is_part(device)) device = device.get_info<sycl::info::device::parent_device>();
    return device;
}

// GPUs of one platform share a context but not memory.
static bool is_of_another_device(const sycl::queue &engine_queue, const usm_buffer &buffer) {
    const sycl::device buffer_device = buffer.queue->get_device(),
                       engine_device = engine_queue.get_device();
    return buffer_device != engine_device && whole_of(buffer_device) != whole_of(engine_device) &&
           sycl::get_pointer_type(buffer.pointer, engine_queue.get_context()) !=
               sycl::usm::alloc::host;
}

void check_place(const std::string &owner, const Engine &engine, const usm_buffer &buffer) {
    const sycl::queue &engine_queue = queue_of(engine.queue);
    const bool is_same_context = buffer.queue->get_context() == engine_queue.get_context();
    if (is_same_context && !is_of_another_device(engine_queue, buffer)) return;
    const auto placement =
        py::module_::import("dpnp").attr("exceptions").attr("ExecutionPlacementError");
    raise(placement(owner + ": array must be allocated " +
                    (is_same_context ? "on the device" : "in the context") + " of the engine (" +
                    describe(engine) + "), it belongs to a queue on " +
                    buffer.queue->get_device().get_info<sycl::info::device::name>()));
}

}  // namespace sycl_dnn
