// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_allocator.hpp"

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl_graph_sycl.hpp>
#include <sycl/sycl.hpp>

namespace sycl_dnn {

namespace {

// Above this, idle buffers are freed rather than kept.
constexpr size_t comfortable = size_t{256} << 20;
constexpr size_t granule = size_t{4} << 10;
constexpr size_t least_alignment = 64;

struct buffer {
    void *pointer;
    size_t nbytes;
    sycl::device device;
    sycl::context context;
    sycl::event last_use;
    bool lent;
};

struct pool {
    std::mutex guard;
    std::list<buffer> buffers;
};

// Never destroyed: the SYCL runtime may be gone by then; the memory is freed with the process.
pool &the_pool() {
    static auto *instance = new pool;
    return *instance;
}

bool is_idle(const buffer &b) {
    return !b.lent && b.last_use.get_info<sycl::info::event::command_execution_status>() ==
                          sycl::info::event_command_status::complete;
}

void free_idle(std::list<buffer> &buffers) {
    buffers.remove_if([](const buffer &b) {
        const bool gone = is_idle(b);
        if (gone) sycl::free(b.pointer, b.context);
        return gone;
    });
}

size_t pooled_bytes(const std::list<buffer> &buffers) {
    size_t sum = 0;
    for (const buffer &b : buffers) sum += b.nbytes;
    return sum;
}

buffer *smallest_fit(std::list<buffer> &buffers, size_t nbytes, size_t alignment,
                     const sycl::device &device, const sycl::context &context) {
    buffer *best = nullptr;
    for (buffer &b : buffers) {
        const bool fits = b.nbytes >= nbytes && b.nbytes <= 2 * nbytes && b.context == context &&
                          b.device == device &&
                          reinterpret_cast<uintptr_t>(b.pointer) % alignment == 0;
        if (fits && (!best || b.nbytes < best->nbytes) && is_idle(b)) best = &b;
    }
    return best;
}

void *lend(size_t size, size_t alignment, const void *dev, const void *ctx) {
    const auto &device = *static_cast<const sycl::device *>(dev);
    const auto &context = *static_cast<const sycl::context *>(ctx);
    const size_t nbytes = (std::max<size_t>(size, 1) + granule - 1) / granule * granule;
    const size_t aligned = std::max(alignment, least_alignment);
    pool &p = the_pool();
    std::lock_guard<std::mutex> lock(p.guard);
    if (buffer *idle = smallest_fit(p.buffers, nbytes, aligned, device, context)) {
        idle->lent = true;
        return idle->pointer;
    }
    if (pooled_bytes(p.buffers) + nbytes > comfortable) free_idle(p.buffers);
    void *pointer = sycl::aligned_alloc_device(aligned, nbytes, device, context);
    if (!pointer) {
        free_idle(p.buffers);
        pointer = sycl::aligned_alloc_device(aligned, nbytes, device, context);
    }
    if (pointer) p.buffers.push_back({pointer, nbytes, device, context, sycl::event(), true});
    return pointer;
}

void take_back(void *pointer, void *event) {
    pool &p = the_pool();
    std::lock_guard<std::mutex> lock(p.guard);
    for (buffer &b : p.buffers) {
        if (b.pointer != pointer) continue;
        b.last_use = event ? *static_cast<const sycl::event *>(event) : sycl::event();
        b.lent = false;
        return;
    }
}

// oneDNN calls these from C: no exception may leave them.
void *lend_or_null(size_t size, size_t alignment, const void *dev, const void *ctx) noexcept {
    try {
        return lend(size, alignment, dev, ctx);
    } catch (...) {
        return nullptr;
    }
}

// A buffer whose state is unknown remains in use.
void take_back_quietly(void *pointer, const void *, const void *, void *event) noexcept {
    try {
        take_back(pointer, event);
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

graph_pool_statistics graph_pool_total() {
    pool &p = the_pool();
    std::lock_guard<std::mutex> lock(p.guard);
    graph_pool_statistics sum{p.buffers.size(), pooled_bytes(p.buffers), 0};
    for (const buffer &b : p.buffers) sum.busy += !is_idle(b);
    return sum;
}

void clear_graph_pool() {
    pool &p = the_pool();
    std::lock_guard<std::mutex> lock(p.guard);
    free_idle(p.buffers);
}

}  // namespace sycl_dnn
