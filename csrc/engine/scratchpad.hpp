// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <sycl/sycl.hpp>
#include <vector>

namespace sycl_dnn {

// Device memory that primitives use while they run. A buffer is reused once the event of its last
// use is complete; if the pool is full, the next use waits on the device for the previous one.
class ScratchpadPool {
  public:
    struct buffer {
        void *pointer;
        size_t nbytes;
        sycl::event last_use;
        bool leased;
        dnnl::memory memory;  // over the whole buffer; oneDNN reads nothing but its address
    };
    struct statistics {
        size_t buffers, nbytes, busy;
    };

    // The pool of this queue's device and context.
    static ScratchpadPool &of(const sycl::queue &queue, const dnnl::engine &engine);
    static statistics total();
    // Frees all unused buffers.
    static void clear_all();

    ScratchpadPool(const sycl::queue &queue, const dnnl::engine &engine);

    // At least `nbytes`; may append to `depends` what must finish first. A `chained` call waits for
    // all previous ones anyway, so it uses a busy buffer rather than a new one.
    buffer &lease(size_t nbytes, std::vector<sycl::event> &depends, bool chained = false);
    void give_back(buffer &used, const sycl::event &last_use);
    void give_back(buffer &unused);

  private:
    // Buffers are ordered by last use, so the first is the most likely to be idle.
    buffer *smallest_idle(size_t nbytes);
    buffer *smallest_busy(size_t nbytes);
    buffer &allocate(size_t nbytes);
    void free_idle();
    size_t pooled_bytes() const;

    sycl::device device;
    sycl::context context;
    dnnl::engine engine;
    std::mutex guard;
    std::list<buffer> buffers;
};

// Lends a buffer to one call; it returns to the pool when the call is submitted or has failed. Null
// for zero bytes.
class ScratchpadLease {
  public:
    ScratchpadLease(ScratchpadPool &pool, size_t nbytes, std::vector<sycl::event> &depends,
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
    const ScratchpadPool::buffer *buffer() const { return lent; }
    char *pointer() const { return lent ? static_cast<char *>(lent->pointer) : nullptr; }

  private:
    ScratchpadPool &pool;
    ScratchpadPool::buffer *lent;
};

}  // namespace sycl_dnn
