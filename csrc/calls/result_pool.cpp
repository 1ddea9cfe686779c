// SPDX-License-Identifier: Apache-2.0
#include "calls/result_pool.hpp"

#include <algorithm>
#include <bit>
#include <sycl/sycl.hpp>

#include "base/dpctl_api.hpp"
#include "base/errors.hpp"
#include "base/gil.hpp"
#include "engine/huge_pages.hpp"
#include "engine/scratchpad.hpp"

namespace sycl_dnn {

// Number of blocks of one size to try before allocating.
static constexpr size_t newest_examined = 16;
static constexpr size_t smallest_step = 256;

ResultPool::ResultPool(const py::object &q, size_t m) : most(m), queue(q) {}

size_t ResultPool::rounded(size_t nbytes) {
    const int bits = std::bit_width(nbytes);
    const size_t step = std::max(size_t{1} << std::max(bits - 4, 0), smallest_step);
    return std::max((nbytes + step - 1) / step, size_t{1}) * step;
}

// A free block of the pool, or `unpooled` with a new allocation.
ResultPool::block &ResultPool::taken(py::handle kind, size_t nbytes, block &unpooled) {
    const size_t size = rounded(nbytes);
    blocks &known = by_size[{kind.ptr(), size}];
    for (size_t n = std::min(known.size(), newest_examined); n > 0; --n) {
        // The block freed last is most likely to be in the processor's cache.
        if (is_free(known.front())) return known.front();
        known.push_back(std::move(known.front()));
        known.pop_front();
    }
    return added(kind, size, known, unpooled);
}

py::object ResultPool::take(py::handle kind, size_t nbytes) {
    block unpooled;
    block &found = taken(kind, nbytes, unpooled);
    const py::object dropped = std::move(found.array);
    return found.memory;
}

py::object ResultPool::take_array(const ArrayTypes &types, py::handle kind, const Blank &blank) {
    if (blank.shape.is_none()) return take(kind, blank.nbytes);
    block unpooled;
    block &found = taken(kind, blank.nbytes, unpooled);
    if (found.array && blank.facts.are_those_of(*usm_array(found.array, types.usm_ndarray)))
        return found.array;
    py::object dropped = std::move(found.array);
    const py::object memory = found.memory;
    PyObject *const given[] = {blank.shape.ptr(), blank.dtype.ptr(), memory.ptr(),
                               blank.strides.ptr()};
    auto made = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(types.usm_ndarray.ptr(), given, 1, types.keywords.ptr()));
    if (!made) throw py::error_already_set();
    const UsmArray *fields = usm_array(made, types.usm_ndarray);
    if (fields && fields->base == memory.ptr()) note_array(kind, blank.nbytes, memory, made);
    return made;
}

// The blocks may have moved: creating an array may let other threads run.
void ResultPool::note_array(py::handle kind, size_t nbytes, const py::object &memory,
                            const py::object &array) {
    blocks &known = by_size[{kind.ptr(), rounded(nbytes)}];
    const auto is_it = [&](const block &b) { return b.memory.is(memory); };
    const auto place = std::find_if(known.begin(), known.end(), is_it);
    if (place != known.end() && !place->array) place->array = array;
}

py::object ResultPool::made(py::handle kind, size_t size) const {
    py::object block = kind(size, py::arg("queue") = queue);
    want_huge_pages(queue_of(queue).get_device(), buffer_of(block).pointer, size);
    return block;
}

// dpctl's allocation error is not a MemoryError.
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

ResultPool::block &ResultPool::added(py::handle kind, size_t size, blocks &known, block &unpooled) {
    if (held + size > most) drop_unused();
    py::object memory = made_or_none(kind, size);
    if (memory.is_none()) {
        drop_unused();
        free_scratchpads();
        memory = made_or_none(kind, size);
    }
    if (memory.is_none())
        raise_status(dnnl_out_of_memory,
                     "no device memory for a result of " + std::to_string(size) + " bytes");
    unpooled.memory = std::move(memory);
    if (held + size > most) return unpooled;
    held += size;
    known.push_front(unpooled);
    return known.front();
}

void ResultPool::drop_unused() {
    blocks dropped;  // freed on return: freeing may run other Python code
    for (auto &[key, known] : by_size) {
        for (size_t n = known.size(); n > 0; --n) {
            block one = std::move(known.front());
            known.pop_front();
            if (is_free(one)) {
                held -= key.second;
                dropped.push_back(std::move(one));
            } else {
                known.push_back(std::move(one));
            }
        }
    }
}

}  // namespace sycl_dnn
