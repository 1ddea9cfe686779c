// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/numpy.h>

#include "base/bind.hpp"

namespace sycl_dnn {

// Non-maximum suppression: of boxes (n, 4) by decreasing score, the positions of at most `most`
// that no kept one before overlaps by more than a bound.
template <class T>
py::array_t<int64_t> kept_boxes(const py::array_t<T, py::array::c_style> &low_and_high,
                                double bound, size_t most);

extern template py::array_t<int64_t> kept_boxes(const py::array_t<float, py::array::c_style> &,
                                                double, size_t);
extern template py::array_t<int64_t> kept_boxes(const py::array_t<double, py::array::c_style> &,
                                                double, size_t);

}  // namespace sycl_dnn
