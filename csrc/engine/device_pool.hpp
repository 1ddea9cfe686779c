// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <sycl/sycl.hpp>
#include <vector>

namespace sycl_dnn {

// Device memory that work uses while it runs. A buffer is reused once the event of its last use is
// complete.
class DevicePool {
  public:
    struct buffer {
        void *pointer;
        size_t nbytes;
        bool leased = true;
        sycl::event last_use{};
        // Over the whole buffer, if the pool has an engine; oneDNN reads nothing but its address.
        dnnl::memory memory{};

        bool is_idle() const;
    };

    DevicePool(const sycl::device &device, const sycl::context &context,
               const dnnl::engine &engine);

    // At least `nbytes`. If the pool is full, the next use waits on the device for the previous
    // one: what must finish first is appended to `depends`. A `chained` call waits for all previous
    // ones anyway, so it uses a busy buffer rather than a new one.
    buffer &lease(size_t nbytes, std::vector<sycl::event> &depends, bool chained = false);
    // An idle or new buffer of `nbytes` to twice as many, for work that does not wait.
    buffer &lease_idle(size_t nbytes, size_t alignment);
    void give_back(buffer &used, const sycl::event &last_use);
    void give_back(buffer &unused);
    void give_back(const void *pointer, const sycl::event &last_use);

  private:
    friend class DevicePools;
    template <class Fits>
    buffer *smallest(size_t nbytes, const Fits &fits);
    buffer &allocate(size_t nbytes, size_t alignment);
    void free_idle();
    size_t pooled_bytes() const;

    sycl::device device;
    sycl::context context;
    dnnl::engine engine;
    std::mutex guard;
    std::list<buffer> buffers;  // by last use, so the first is the most likely to be idle
};

// The pools of one purpose.
class DevicePools {
  public:
    struct statistics {
        size_t buffers, nbytes, busy;
    };

    DevicePool &of(const sycl::device &device, const sycl::context &context,
                   const dnnl::engine &engine = {});
    statistics total();
    // Frees all unused buffers.
    void clear();

  private:
    std::mutex guard;
    std::list<DevicePool> pools;
};

// Never destroyed: the SYCL runtime may be gone by then; the memory is freed with the process.
DevicePools &scratchpads();
DevicePools &graph_memory();

// Lends a buffer to one call; it returns to the pool when the call is submitted or has failed. Null
// for zero bytes.
class ScratchpadLease {
  public:
    ScratchpadLease(DevicePool &pool, size_t nbytes, std::vector<sycl::event> &depends,
                    bool chained = false)
        : pool(pool), lent(nbytes ? &pool.lease(nbytes, depends, chained) : nullptr) {}
    ~ScratchpadLease() {
        if (lent) pool.give_back(*lent);
    }
    ScratchpadLease(const ScratchpadLease &) = delete;

    // Ends the lease.
    void used_until(const sycl::event &event) {
        if (lent) pool.give_back(*lent, event);
        lent = nullptr;
    }
    // Null where nothing is lent.
    const DevicePool::buffer *buffer() const { return lent; }
    char *pointer() const { return lent ? static_cast<char *>(lent->pointer) : nullptr; }

  private:
    DevicePool &pool;
    DevicePool::buffer *lent;
};

}  // namespace sycl_dnn
