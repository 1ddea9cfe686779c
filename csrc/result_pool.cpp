// SPDX-License-Identifier: Apache-2.0
#include "result_pool.hpp"

#include <bit>
#include <sycl/sycl.hpp>

#include "dpctl_api.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "huge_pages.hpp"
#include "scratchpad.hpp"

namespace sycl_dnn {

// Blocks of one size that are looked at before a new one is made.
static constexpr size_t looked_at = 16;
static constexpr size_t smallest_step = 256;

ResultPool::ResultPool(const py::object &q, size_t m) : most(m), queue(q) {}

size_t ResultPool::rounded(size_t nbytes) {
    const int bits = std::bit_width(nbytes);
    const size_t step = std::max(size_t{1} << std::max(bits - 4, 0), smallest_step);
    return std::max((nbytes + step - 1) / step, size_t{1}) * step;
}

py::object ResultPool::take(py::handle kind, size_t nbytes) {
    const size_t size = rounded(nbytes);
    blocks &known = by_size[{kind.ptr(), size}];
    for (size_t n = std::min(known.size(), looked_at); n > 0; --n) {
        // What was freed last is the likeliest to be in the processor's cache.
        if (is_free(known.front())) return known.front();
        known.push_back(std::move(known.front()));
        known.pop_front();
    }
    return added(kind, size, known);
}

py::object ResultPool::made(py::handle kind, size_t size) const {
    py::object block = kind(size, py::arg("queue") = queue);
    want_huge_pages(queue_of(queue).get_device(), buffer_of(block).pointer, size);
    return block;
}

// dpctl's own error is no MemoryError.
static bool is_refusal(const py::error_already_set &error) {
    return error.matches(PyExc_MemoryError) ||
           error.matches(py::module_::import("dpctl.memory").attr("USMAllocationError"));
}

py::object ResultPool::made_or_none(py::handle kind, size_t size) const {
    try {
        return made(kind, size);
    } catch (const py::error_already_set &error) {
        if (!is_refusal(error)) throw;
        return py::none();
    }
}

// Freeing may wait for the device.
static void free_scratchpads() {
    ReleasedGil nogil;
    ScratchpadPool::clear_all();
}

py::object ResultPool::added(py::handle kind, size_t size, blocks &known) {
    if (held + size > most) drop_unused();
    py::object block = made_or_none(kind, size);
    if (block.is_none()) {
        drop_unused();
        free_scratchpads();
        block = made_or_none(kind, size);
    }
    if (block.is_none())
        raise_status(dnnl_out_of_memory,
                     "no device memory for a result of " + std::to_string(size) + " bytes");
    if (held + size <= most) {
        known.push_front(block);
        held += size;
    }
    return block;
}

void ResultPool::drop_unused() {
    blocks dropped;  // freed at the end: freeing may run other Python code
    for (auto &[key, known] : by_size) {
        for (size_t n = known.size(); n > 0; --n) {
            py::object block = std::move(known.front());
            known.pop_front();
            if (is_free(block)) {
                held -= key.second;
                dropped.push_back(std::move(block));
            } else {
                known.push_back(std::move(block));
            }
        }
    }
}

}  // namespace sycl_dnn
