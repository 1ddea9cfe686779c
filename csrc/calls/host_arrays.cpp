// SPDX-License-Identifier: Apache-2.0
// NumPy's arrays as arguments and results of calls on a CPU.
#include "calls/host_arrays.hpp"

#include <cstring>

#include "base/gil.hpp"
#include "engine/in_flight.hpp"
#include "engine/order.hpp"
#include "program/host_copy.hpp"
#include "program/run_program.hpp"

namespace sycl_dnn {

namespace {

// From this size on other threads run while the bytes are copied.
constexpr py::ssize_t large_copy = 1 << 18;

void copy_bytes(void *to, const void *from, py::ssize_t nbytes) {
    if (nbytes < large_copy) {
        std::memcpy(to, from, static_cast<size_t>(nbytes));
        return;
    }
    const ReleasedGil nogil;
    std::memcpy(to, from, static_cast<size_t>(nbytes));
}

bool has_bytes_of_device(const py::array &array) {
    const py::dtype dtype = array.dtype();
    const bool is_plain =
        std::strchr("biu", dtype.kind()) || dtype.num() == py::dtype::of<float>().num();
    return is_plain && dtype.byteorder() != '>' && array.size() &&
           array.flags() & py::array::c_style;
}

// A type whose elements are moved like those of this size; null if there is none.
const char *type_of_size(py::ssize_t itemsize) {
    return itemsize == 4 ? "float32" : itemsize == 2 ? "float16" : nullptr;
}

// The axes of a copy, those that follow each other in both arrays as one.
std::vector<HostCopy::axis> axes_of(const py::array &copy,
                                    const std::vector<py::ssize_t> &strides) {
    std::vector<HostCopy::axis> axes;
    for (py::ssize_t a = 0; a < copy.ndim(); ++a) {
        const int64_t n = copy.shape(a), size = copy.itemsize();
        const HostCopy::axis axis{n, strides[a] / size, copy.strides(a) / size};
        if (n == 1) continue;
        if (!axes.empty() && axes.back()[1] == n * axis[1])
            axes.back() = {axes.back()[0] * n, axis[1], axis[2]};
        else
            axes.push_back(axis);
    }
    return axes;
}

}  // namespace

py::object device_copy(const ArrayTypes &types, const Stream &stream, ResultPool &pool,
                       const py::object &kind, const py::array &array) {
    if (!has_bytes_of_device(array) || !is_idle(stream)) return py::none();
    const py::tuple shape = array.attr("shape");
    const py::dtype dtype = array.dtype();
    const auto nbytes = static_cast<size_t>(array.nbytes());
    const Blank blank{nbytes, shape, py::none(), dtype, ArrayFacts(shape, py::none(), dtype)};
    const py::object copy = pool.take_array(types, kind, blank);
    copy_bytes(address_of(copy), array.data(), array.nbytes());
    return types.wrapped(copy);
}

py::array host_copy(const py::object &type, const py::object &array) {
    const UsmArray *fields = usm_array(array, type);
    const py::dtype dtype = fields ? py::dtype(fields->typenum) : py::dtype(array.attr("dtype"));
    const auto shape = fields
                           ? std::vector<py::ssize_t>(fields->shape, fields->shape + fields->ndim)
                           : array.attr("shape").cast<std::vector<py::ssize_t>>();
    auto strides =
        fields ? strides_of(*fields) : array.attr("strides").cast<std::vector<py::ssize_t>>();
    for (py::ssize_t &stride : strides) stride *= dtype.itemsize();
    const char *const data = fields ? fields->data : address_of(array);
    py::ssize_t nbytes = dtype.itemsize();
    for (const py::ssize_t n : shape) nbytes *= n;
    py::array copy(dtype, shape);
    if (std::equal(strides.begin(), strides.end(), copy.strides())) {
        copy_bytes(copy.mutable_data(), data, nbytes);
        return copy;
    }
    if (const char *name = type_of_size(dtype.itemsize()); name && copy.size()) {
        const HostCopy moved(name, name, axes_of(copy, strides));
        void *const addresses[] = {const_cast<char *>(data), copy.mutable_data()};
        const ReleasedGil nogil;
        moved.run(addresses);
        return copy;
    }
    // Without an owner of the memory, pybind11 copies.
    return {dtype, shape, strides, data};
}

}  // namespace sycl_dnn
