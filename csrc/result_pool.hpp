// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>

#include "bind.hpp"

namespace sycl_dnn {

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
    // Gives back the blocks that nothing uses.
    void drop_unused();
    // The size of the block for so many bytes: up to an eighth more, so that few sizes differ.
    static size_t rounded(size_t nbytes);

    size_t most;  // bytes that the pool may hold, in use or not
    size_t held = 0;

  private:
    using blocks = std::deque<py::object>;
    static bool is_free(const py::object &block) { return Py_REFCNT(block.ptr()) == 1; }
    py::object made(py::handle kind, size_t size) const;
    py::object made_or_none(py::handle kind, size_t size) const;
    py::object added(py::handle kind, size_t size, blocks &known);

    py::object queue;
    std::map<std::pair<PyObject *, size_t>, blocks> by_size;
};

}  // namespace sycl_dnn
