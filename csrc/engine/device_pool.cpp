// SPDX-License-Identifier: Apache-2.0
#include "engine/device_pool.hpp"

#include <algorithm>
#include <new>

#include "engine/huge_pages.hpp"

namespace sycl_dnn {

// Above this a pool waits on the device, or frees idle buffers, rather than growing.
static constexpr size_t comfortable = size_t{256} << 20;
static constexpr size_t granule = size_t{64} << 10;
static constexpr size_t fine_granule = size_t{4} << 10;
static constexpr size_t least_alignment = 64;

static size_t rounded(size_t nbytes, size_t step) {
    return std::max((nbytes + step - 1) / step, size_t{1}) * step;
}

bool DevicePool::buffer::is_idle() const {
    return !leased && last_use.get_info<sycl::info::event::command_execution_status>() ==
                          sycl::info::event_command_status::complete;
}

DevicePool::DevicePool(const sycl::device &d, const sycl::context &c, const dnnl::engine &e)
    : device(d), context(c), engine(e) {}

size_t DevicePool::pooled_bytes() const {
    size_t sum = 0;
    for (const buffer &b : buffers) sum += b.nbytes;
    return sum;
}

template <class Fits>
DevicePool::buffer *DevicePool::smallest(size_t nbytes, const Fits &fits) {
    buffer *best = nullptr;
    for (buffer &b : buffers)
        if (b.nbytes >= nbytes && (!best || b.nbytes < best->nbytes) && fits(b)) best = &b;
    return best;
}

void DevicePool::free_idle() {
    buffers.remove_if([&](const buffer &b) {
        const bool gone = b.is_idle();
        if (gone) sycl::free(b.pointer, context);
        return gone;
    });
}

DevicePool::buffer &DevicePool::allocate(size_t nbytes, size_t alignment) {
    void *pointer = sycl::aligned_alloc_device(alignment, nbytes, device, context);
    if (!pointer) {
        free_idle();
        pointer = sycl::aligned_alloc_device(alignment, nbytes, device, context);
    }
    if (!pointer) throw std::bad_alloc();
    request_huge_pages(device, pointer, nbytes);
    try {
        buffer &added = buffers.emplace_back(buffer{pointer, nbytes});
        if (engine) {
            const dnnl::memory::desc bytes({static_cast<dnnl::memory::dim>(nbytes)},
                                           dnnl::memory::data_type::u8,
                                           dnnl::memory::format_tag::a);
            added.memory = dnnl::memory(bytes, engine, pointer);
        }
        return added;
    } catch (...) {
        buffers.remove_if([&](const buffer &b) { return b.pointer == pointer; });
        sycl::free(pointer, context);
        throw;
    }
}

DevicePool::buffer &DevicePool::lease(size_t nbytes, std::vector<sycl::event> &depends,
                                      bool chained) {
    std::lock_guard<std::mutex> lock(guard);
    buffer *chosen = smallest(nbytes, [](auto &b) { return b.is_idle(); });
    if (!chosen) {
        const bool is_full = pooled_bytes() + nbytes > comfortable;
        if (chained || is_full) chosen = smallest(nbytes, [](auto &b) { return !b.leased; });
        if (chosen)
            depends.push_back(chosen->last_use);
        else if (is_full)
            free_idle();
    }
    if (!chosen) return allocate(rounded(nbytes, granule), least_alignment);
    chosen->leased = true;
    return *chosen;
}

DevicePool::buffer &DevicePool::lease_idle(size_t nbytes, size_t alignment) {
    const size_t size = rounded(nbytes, fine_granule);
    std::lock_guard<std::mutex> lock(guard);
    buffer *chosen = smallest(size, [&](const buffer &b) {
        const bool is_aligned = reinterpret_cast<uintptr_t>(b.pointer) % alignment == 0;
        return b.nbytes <= 2 * size && is_aligned && b.is_idle();
    });
    if (!chosen) {
        if (pooled_bytes() + size > comfortable) free_idle();
        return allocate(size, std::max(alignment, least_alignment));
    }
    chosen->leased = true;
    return *chosen;
}

void DevicePool::give_back(buffer &used, const sycl::event &last_use) {
    give_back(used.pointer, last_use);
}

void DevicePool::give_back(const void *pointer, const sycl::event &last_use) {
    std::lock_guard<std::mutex> lock(guard);
    const auto used = std::find_if(buffers.begin(), buffers.end(),
                                   [&](const buffer &b) { return b.pointer == pointer; });
    if (used == buffers.end()) return;
    used->last_use = last_use;
    used->leased = false;
    buffers.splice(buffers.end(), buffers, used);
}

void DevicePool::give_back(buffer &unused) {
    std::lock_guard<std::mutex> lock(guard);
    unused.leased = false;
}

DevicePool &DevicePools::of(const sycl::device &device, const sycl::context &context,
                            const dnnl::engine &engine) {
    std::lock_guard<std::mutex> lock(guard);
    for (DevicePool &pool : pools)
        if (pool.device == device && pool.context == context) return pool;
    return pools.emplace_back(device, context, engine);
}

DevicePools::statistics DevicePools::total() {
    std::lock_guard<std::mutex> lock(guard);
    statistics sum{0, 0, 0};
    for (DevicePool &pool : pools) {
        std::lock_guard<std::mutex> inner(pool.guard);
        sum.buffers += pool.buffers.size();
        sum.nbytes += pool.pooled_bytes();
        for (const auto &b : pool.buffers) sum.busy += !b.is_idle();
    }
    return sum;
}

void DevicePools::clear() {
    std::lock_guard<std::mutex> lock(guard);
    for (DevicePool &pool : pools) {
        std::lock_guard<std::mutex> inner(pool.guard);
        pool.free_idle();
    }
}

DevicePools &scratchpads() {
    static auto *pools = new DevicePools;
    return *pools;
}

DevicePools &graph_memory() {
    static auto *pools = new DevicePools;
    return *pools;
}

}  // namespace sycl_dnn
