// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>

#include "call_key.hpp"

namespace sycl_dnn {

// What a call allocates: an array, or bytes in a layout of oneDNN's own.
struct Blank {
    size_t nbytes;
    py::object shape;    // None: bytes
    py::object strides;  // None: row-major
    py::object dtype;
    ArrayFacts facts;
};

// Memory of results that were dropped, used again: fresh pages cost more than many operations.
//
// A block is free when nothing but the pool refers to it: arrays, views and unfinished work all
// do. What dpnp has submitted and no longer refers to is ordered before the next call on the
// queue, so a pool must not serve another queue. Call everything with the GIL.
class ResultPool {
  public:
    ResultPool(const py::object &queue, size_t most);

    // A dpctl.memory object of at least so many bytes, of the class `kind`.
    py::object take(py::handle kind, size_t nbytes);
    // A usm_ndarray over such an object, or that itself where there is no shape. The array that
    // was there before is used again if it is the same: making one is slow.
    py::object take_array(const ArrayTypes &types, py::handle kind, const Blank &blank);
    // Gives back the blocks that nothing uses.
    void drop_unused();
    // The size of the block for so many bytes: up to an eighth more, so that few sizes differ.
    static size_t rounded(size_t nbytes);

    size_t most;  // bytes that the pool may hold, in use or not
    size_t held = 0;

  private:
    struct block {
        py::object memory;
        py::object array;  // the last one over it, which refers to it once; or null
    };
    using blocks = std::deque<block>;
    static bool is_free(const block &b) {
        if (!b.array) return Py_REFCNT(b.memory.ptr()) == 1;
        return Py_REFCNT(b.array.ptr()) == 1 && Py_REFCNT(b.memory.ptr()) == 2;
    }
    block &taken(py::handle kind, size_t nbytes, block &unpooled);
    void note_array(py::handle kind, size_t nbytes, const py::object &memory,
                    const py::object &array);
    py::object made(py::handle kind, size_t size) const;
    py::object made_or_none(py::handle kind, size_t size) const;
    block &added(py::handle kind, size_t size, blocks &known, block &unpooled);

    py::object queue;
    std::map<std::pair<PyObject *, size_t>, blocks> by_size;
};

}  // namespace sycl_dnn
