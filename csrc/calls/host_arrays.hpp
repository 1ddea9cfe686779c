// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/numpy.h>

#include "calls/result_pool.hpp"
#include "engine/stream.hpp"

namespace sycl_dnn {

// A dpnp.ndarray of memory class `kind` with the values of a NumPy array, written now by the CPU
// into memory of the pool; None if work on the queue is unfinished, or the array must be converted.
py::object device_copy(const ArrayTypes &types, const Stream &stream, ResultPool &pool,
                       const py::object &kind, const py::array &array);

// A NumPy array with the values of a usm_ndarray whose memory the CPU can access, and on which no
// work is pending.
py::array host_copy(const py::object &type, const py::object &array);

}  // namespace sycl_dnn
