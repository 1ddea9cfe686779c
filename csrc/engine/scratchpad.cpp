// SPDX-License-Identifier: Apache-2.0
#include "engine/scratchpad.hpp"

#include <new>

#include "engine/huge_pages.hpp"

namespace sycl_dnn {

// Above this a pool waits on the device rather than growing.
static constexpr size_t comfortable = size_t{256} << 20;
static constexpr size_t granule = size_t{64} << 10;

namespace {
struct pool_registry {
    std::mutex guard;
    std::list<ScratchpadPool> pools;
};
// Never destroyed: the SYCL runtime may be gone by then; the memory is freed with the process.
pool_registry &all_pools() {
    static auto *instance = new pool_registry;
    return *instance;
}
}  // namespace

static bool is_idle(const ScratchpadPool::buffer &b) {
    return !b.leased && b.last_use.get_info<sycl::info::event::command_execution_status>() ==
                            sycl::info::event_command_status::complete;
}

ScratchpadPool::ScratchpadPool(const sycl::queue &queue, const dnnl::engine &e)
    : device(queue.get_device()), context(queue.get_context()), engine(e) {}

ScratchpadPool &ScratchpadPool::of(const sycl::queue &queue, const dnnl::engine &engine) {
    const sycl::device device = queue.get_device();
    const sycl::context context = queue.get_context();
    std::lock_guard<std::mutex> lock(all_pools().guard);
    for (auto &pool : all_pools().pools)
        if (pool.device == device && pool.context == context) return pool;
    return all_pools().pools.emplace_back(queue, engine);
}

size_t ScratchpadPool::pooled_bytes() const {
    size_t sum = 0;
    for (const buffer &b : buffers) sum += b.nbytes;
    return sum;
}

ScratchpadPool::buffer *ScratchpadPool::smallest_idle(size_t nbytes) {
    buffer *best = nullptr;
    for (buffer &b : buffers)
        if (b.nbytes >= nbytes && (!best || b.nbytes < best->nbytes) && is_idle(b)) best = &b;
    return best;
}

ScratchpadPool::buffer *ScratchpadPool::smallest_busy(size_t nbytes) {
    buffer *best = nullptr;
    for (buffer &b : buffers)
        if (b.nbytes >= nbytes && !b.leased && (!best || b.nbytes < best->nbytes)) best = &b;
    return best;
}

void ScratchpadPool::free_idle() {
    for (auto b = buffers.begin(); b != buffers.end();) {
        if (!is_idle(*b)) {
            ++b;
            continue;
        }
        sycl::free(b->pointer, context);
        b = buffers.erase(b);
    }
}

ScratchpadPool::buffer &ScratchpadPool::allocate(size_t nbytes) {
    const size_t rounded = (nbytes + granule - 1) / granule * granule;
    void *pointer = sycl::malloc_device(rounded, device, context);
    if (!pointer) {
        free_idle();
        pointer = sycl::malloc_device(rounded, device, context);
    }
    if (!pointer) throw std::bad_alloc();
    request_huge_pages(device, pointer, rounded);
    try {
        const dnnl::memory::desc bytes({static_cast<dnnl::memory::dim>(rounded)},
                                       dnnl::memory::data_type::u8, dnnl::memory::format_tag::a);
        return buffers.emplace_back(
            buffer{pointer, rounded, sycl::event(), true, dnnl::memory(bytes, engine, pointer)});
    } catch (...) {
        sycl::free(pointer, context);
        throw;
    }
}

ScratchpadPool::buffer &ScratchpadPool::lease(size_t nbytes, std::vector<sycl::event> &depends,
                                              bool chained) {
    std::lock_guard<std::mutex> lock(guard);
    buffer *chosen = smallest_idle(nbytes);
    if (!chosen && (chained || pooled_bytes() + nbytes > comfortable)) {
        chosen = smallest_busy(nbytes);
        if (chosen)
            depends.push_back(chosen->last_use);
        else if (pooled_bytes() + nbytes > comfortable)
            free_idle();
    }
    if (!chosen) return allocate(nbytes);
    chosen->leased = true;
    return *chosen;
}

void ScratchpadPool::give_back(buffer &used, const sycl::event &last_use) {
    std::lock_guard<std::mutex> lock(guard);
    used.last_use = last_use;
    used.leased = false;
    for (auto b = buffers.begin(); b != buffers.end(); ++b)
        if (&*b == &used) {
            buffers.splice(buffers.end(), buffers, b);
            break;
        }
}

void ScratchpadPool::give_back(buffer &unused) {
    std::lock_guard<std::mutex> lock(guard);
    unused.leased = false;
}

ScratchpadPool::statistics ScratchpadPool::total() {
    std::lock_guard<std::mutex> lock(all_pools().guard);
    statistics sum{0, 0, 0};
    for (auto &pool : all_pools().pools) {
        std::lock_guard<std::mutex> inner(pool.guard);
        sum.buffers += pool.buffers.size();
        sum.nbytes += pool.pooled_bytes();
        for (const buffer &b : pool.buffers) sum.busy += !is_idle(b);
    }
    return sum;
}

void ScratchpadPool::clear_all() {
    std::lock_guard<std::mutex> lock(all_pools().guard);
    for (auto &pool : all_pools().pools) {
        std::lock_guard<std::mutex> inner(pool.guard);
        pool.free_idle();
    }
}

}  // namespace sycl_dnn
