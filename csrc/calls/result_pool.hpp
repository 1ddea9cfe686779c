// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "calls/call_key.hpp"

namespace sycl_dnn {

class InFlight;

// An allocation of a call: an array, or bytes in one of oneDNN's own layouts.
struct Blank {
    size_t nbytes;
    py::object shape;    // None: bytes
    py::object strides;  // None: row-major
    py::object dtype;
    ArrayFacts facts;
};

// Reuses the memory of dropped results, since new pages cost more than many operations.
//
// A block is free if only the pool refers to it: arrays, views and unfinished work refer to it too.
// Work of dpnp whose arrays were dropped is ordered before the next call on the queue, so a pool
// must serve only one queue. What the next call writes may also be in use by unfinished work that
// is ordered before it: otherwise each of several calls on the way would have memory of its own,
// which is not in the cache. Call everything with the GIL.
class ResultPool {
  public:
    ResultPool(const py::object &queue, size_t most);

    // A dpctl.memory object of class `kind` with at least `nbytes` bytes.
    py::object take(py::handle kind, size_t nbytes);
    // A usm_ndarray over such an object, or the object itself if there is no shape. A dropped array
    // is reused if it is equal, since creating one is slow. With `before`, work of that queue may
    // still use it: for what is written by a call that is submitted in order.
    py::object take_array(const ArrayTypes &types, py::handle kind, const Blank &blank,
                          const InFlight *before = nullptr);
    // A pool for what the host writes: work of dpnp, which does not hold it, must never use it.
    ResultPool &numbers();
    // Frees the unused blocks.
    void drop_unused();
    // The block size for `nbytes`: up to an eighth more, so that there are few sizes.
    static size_t rounded(size_t nbytes);

    // Used or unused.
    size_t nbytes() const;

  private:
    struct block {
        py::object memory;
        py::object array;  // the last array over it, with one reference to it; or null
    };
    using blocks = std::deque<block>;
    static bool is_free(const block &b, const InFlight *before = nullptr);
    template <class Fits>
    block &acquire(py::handle kind, size_t nbytes, block &unpooled, const InFlight *before,
                   const Fits &fits);
    void note_array(py::handle kind, size_t nbytes, const py::object &memory,
                    const py::object &array);
    py::object new_memory(py::handle kind, size_t size) const;
    py::object new_memory_or_none(py::handle kind, size_t size) const;
    block &add(py::handle kind, size_t size, blocks &same_size, block &unpooled);

    py::object queue;
    size_t most;  // maximum bytes in the pool
    size_t pooled_bytes = 0;
    std::unique_ptr<ResultPool> of_numbers;
    std::map<std::pair<PyObject *, size_t>, blocks> by_size;
};

}  // namespace sycl_dnn
