// SPDX-License-Identifier: Apache-2.0
#include "calls/result_pool.hpp"

#include <algorithm>
#include <bit>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "base/gil.hpp"
#include "engine/device_pool.hpp"
#include "engine/huge_pages.hpp"
#include "engine/in_flight.hpp"

namespace sycl_dnn {

// Number of blocks of one size to try before allocating.
static constexpr size_t newest_examined = 16;
static constexpr size_t smallest_step = 256;

ResultPool::ResultPool(const py::object &q, size_t m) : queue(q), most(m) {}

size_t ResultPool::rounded(size_t nbytes) {
    const int bits = std::bit_width(nbytes);
    const size_t step = std::max(size_t{1} << std::max(bits - 4, 0), smallest_step);
    return std::max((nbytes + step - 1) / step, size_t{1}) * step;
}

bool ResultPool::is_free(const block &b, const InFlight *before) {
    const auto is_only = [&](const py::object &object, py::ssize_t n) {
        const py::ssize_t others = Py_REFCNT(object.ptr()) - n;
        return others == 0 || (before && before->references_to(object) == others);
    };
    return b.array ? is_only(b.array, 1) && Py_REFCNT(b.memory.ptr()) == 2 : is_only(b.memory, 1);
}

// A free block of the pool, one that `fits` if there is any, or `unpooled` with a new allocation.
template <class Fits>
ResultPool::block &ResultPool::acquire(py::handle kind, size_t nbytes, block &unpooled,
                                       const InFlight *before, const Fits &fits) {
    const size_t size = rounded(nbytes);
    blocks &same_size = by_size[{kind.ptr(), size}];
    const auto end = same_size.begin() + std::min(same_size.size(), newest_examined);
    // The block freed last is most likely to be in the processor's cache.
    const auto free = [&](const block &b) { return is_free(b, before); };
    const auto first = std::find_if(same_size.begin(), end, free);
    const auto best = std::find_if(first, end, [&](auto &b) { return fits(b) && free(b); });
    if (best != end) return *best;
    const bool is_busy = first == end;
    for (auto n = first - same_size.begin(); n > 0; --n) {
        same_size.push_back(std::move(same_size.front()));
        same_size.pop_front();
    }
    return is_busy ? add(kind, size, same_size, unpooled) : same_size.front();
}

ResultPool &ResultPool::numbers() {
    if (!of_numbers) of_numbers = std::make_unique<ResultPool>(queue, most);
    return *of_numbers;
}

py::object ResultPool::take(py::handle kind, size_t nbytes) {
    block unpooled;
    block &free_block = acquire(kind, nbytes, unpooled, nullptr, [](auto &) { return true; });
    const py::object dropped = std::move(free_block.array);
    return free_block.memory;
}

py::object ResultPool::take_array(const ArrayTypes &types, py::handle kind, const Blank &blank,
                                  const InFlight *before) {
    if (blank.shape.is_none()) return take(kind, blank.nbytes);
    const auto fits = [&](const block &b) {
        return b.array && blank.facts.are_those_of(*usm_array(b.array, types.usm_ndarray));
    };
    block unpooled;
    block &free_block = acquire(kind, blank.nbytes, unpooled, before, fits);
    if (fits(free_block)) return free_block.array;
    py::object dropped = std::move(free_block.array);
    const py::object memory = free_block.memory;
    PyObject *const args[] = {blank.shape.ptr(), blank.dtype.ptr(), memory.ptr(),
                              blank.strides.ptr()};
    auto array = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(types.usm_ndarray.ptr(), args, 1, types.keywords.ptr()));
    if (!array) throw py::error_already_set();
    const UsmArray *fields = usm_array(array, types.usm_ndarray);
    if (fields && fields->base == memory.ptr()) note_array(kind, blank.nbytes, memory, array);
    return array;
}

// The blocks may have moved: creating an array may let other threads run.
void ResultPool::note_array(py::handle kind, size_t nbytes, const py::object &memory,
                            const py::object &array) {
    blocks &same_size = by_size[{kind.ptr(), rounded(nbytes)}];
    const auto has_memory = [&](const block &b) { return b.memory.is(memory); };
    const auto position = std::find_if(same_size.begin(), same_size.end(), has_memory);
    if (position != same_size.end() && !position->array) position->array = array;
}

py::object ResultPool::new_memory(py::handle kind, size_t size) const {
    py::object block = kind(size, py::arg("queue") = queue);
    request_huge_pages(queue_of(queue).get_device(), buffer_of(block).pointer, size);
    return block;
}

// dpctl's allocation error is not a MemoryError.
static bool is_refusal(const py::error_already_set &error) {
    return error.matches(PyExc_MemoryError) ||
           error.matches(py::module_::import("dpctl.memory").attr("USMAllocationError"));
}

py::object ResultPool::new_memory_or_none(py::handle kind, size_t size) const {
    try {
        return new_memory(kind, size);
    } catch (const py::error_already_set &error) {
        if (!is_refusal(error)) throw;
        return py::none();
    }
}

// Freeing may wait for the device.
static void free_scratchpads() {
    ReleasedGil nogil;
    scratchpads().clear();
}

ResultPool::block &ResultPool::add(py::handle kind, size_t size, blocks &same_size,
                                   block &unpooled) {
    if (pooled_bytes + size > most) drop_unused();
    py::object memory = new_memory_or_none(kind, size);
    if (memory.is_none()) {
        drop_unused();
        free_scratchpads();
        memory = new_memory_or_none(kind, size);
    }
    if (memory.is_none())
        raise_status(dnnl_out_of_memory,
                     "no device memory for a result of " + std::to_string(size) + " bytes");
    unpooled.memory = std::move(memory);
    if (pooled_bytes + size > most) return unpooled;
    pooled_bytes += size;
    same_size.push_front(unpooled);
    return same_size.front();
}

size_t ResultPool::nbytes() const {
    return pooled_bytes + (of_numbers ? of_numbers->pooled_bytes : 0);
}

void ResultPool::drop_unused() {
    if (of_numbers) of_numbers->drop_unused();
    blocks dropped;  // freed on return: freeing may run other Python code
    for (auto &[key, same_size] : by_size) {
        for (size_t n = same_size.size(); n > 0; --n) {
            block candidate = std::move(same_size.front());
            same_size.pop_front();
            if (is_free(candidate)) {
                pooled_bytes -= key.second;
                dropped.push_back(std::move(candidate));
            } else {
                same_size.push_back(std::move(candidate));
            }
        }
    }
}

}  // namespace sycl_dnn
