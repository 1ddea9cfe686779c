// SPDX-License-Identifier: Apache-2.0
#include "calls/kept_boxes.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/errors.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

template <class T>
py::array_t<int64_t> kept_boxes(const py::array_t<T, py::array::c_style> &low_and_high,
                                double bound, size_t most) {
    if (low_and_high.ndim() != 2 || low_and_high.shape(1) != 4)
        throw invalid_arguments("kept_boxes: boxes must have shape (n, 4)");
    const auto n = static_cast<size_t>(low_and_high.shape(0));
    const T *corners = low_and_high.data();
    std::vector<int64_t> kept;
    {
        const ReleasedGil nogil;
        std::array<std::vector<T>, 4> sides;  // by coordinate, so that the compiler vectorizes
        for (size_t c = 0; c < 4; ++c) {
            sides[c].resize(n);
            for (size_t i = 0; i < n; ++i) sides[c][i] = corners[4 * i + c];
        }
        const auto &[x1, y1, x2, y2] = sides;
        std::vector<T> areas(n);
        for (size_t i = 0; i < n; ++i) areas[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]);
        std::vector<char> is_suppressed(n);
        for (size_t i = 0; i < n && kept.size() < most; ++i) {
            if (is_suppressed[i]) continue;
            kept.push_back(static_cast<int64_t>(i));
            for (size_t j = i + 1; j < n; ++j) {
                const T width = std::min(x2[i], x2[j]) - std::max(x1[i], x1[j]);
                const T height = std::min(y2[i], y2[j]) - std::max(y1[i], y1[j]);
                const T shared = std::max(width, T(0)) * std::max(height, T(0));
                // Empty boxes, whose quotient is NaN, overlap none.
                is_suppressed[j] |= shared / (areas[i] + areas[j] - shared) > bound;
            }
        }
    }
    return py::array_t<int64_t>(static_cast<py::ssize_t>(kept.size()), kept.data());
}

template py::array_t<int64_t> kept_boxes(const py::array_t<float, py::array::c_style> &, double,
                                         size_t);
template py::array_t<int64_t> kept_boxes(const py::array_t<double, py::array::c_style> &, double,
                                         size_t);

}  // namespace sycl_dnn
