// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_allocator.hpp"

#include <oneapi/dnnl/dnnl_graph_sycl.hpp>

#include "engine/device_pool.hpp"

namespace sycl_dnn {

namespace {

DevicePool &pool_of(const void *device, const void *context) {
    return graph_memory().of(*static_cast<const sycl::device *>(device),
                             *static_cast<const sycl::context *>(context));
}

// oneDNN calls these from C: no exception may leave them.
void *lend_or_null(size_t size, size_t alignment, const void *device,
                   const void *context) noexcept {
    try {
        return pool_of(device, context).lease_idle(size, std::max(alignment, size_t{1})).pointer;
    } catch (...) {
        return nullptr;
    }
}

// A buffer whose state is unknown remains in use.
void take_back_quietly(void *pointer, const void *device, const void *context,
                       void *event) noexcept {
    try {
        pool_of(device, context)
            .give_back(pointer, event ? *static_cast<const sycl::event *>(event) : sycl::event());
    } catch (...) {
    }
}

}  // namespace

dnnl::engine make_graph_engine(const sycl::device &device, const sycl::context &context) {
    // The engine refers to the allocator and lives as long as the process.
    static auto *allocator = new dnnl::graph::allocator(
        dnnl::graph::sycl_interop::make_allocator(&lend_or_null, &take_back_quietly));
    return dnnl::graph::sycl_interop::make_engine_with_allocator(device, context, *allocator);
}

dnnl::engine make_graph_engine(const sycl::device &device, const sycl::context &context,
                               void *allocate, void *deallocate) {
    // Engines live as long as the process, since unfinished work may refer to them.
    const auto *allocator = new dnnl::graph::allocator(dnnl::graph::sycl_interop::make_allocator(
        reinterpret_cast<dnnl_graph_sycl_allocate_f>(allocate),
        reinterpret_cast<dnnl_graph_sycl_deallocate_f>(deallocate)));
    return dnnl::graph::sycl_interop::make_engine_with_allocator(device, context, *allocator);
}

}  // namespace sycl_dnn
