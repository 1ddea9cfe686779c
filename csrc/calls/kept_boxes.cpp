// SPDX-License-Identifier: Apache-2.0
#include "calls/kept_boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/errors.hpp"
#include "base/gil.hpp"

namespace sycl_dnn {

namespace {

// The corners and areas of kept boxes, by coordinate, so that the compiler vectorizes.
template <class T>
class KeptSides {
  public:
    explicit KeptSides(double bound) : bound(static_cast<T>(bound)) {
        // A quotient is greater than this if it is greater than the bound in double precision.
        if (this->bound > bound) this->bound = std::nextafter(this->bound, T(-INFINITY));
    }

    // Keeps a box unless it overlaps one that was kept.
    bool add(const T *box) {
        const T area = (box[2] - box[0]) * (box[3] - box[1]);
        const size_t n = areas.size(), n_whole = n / at_once * at_once;
        for (size_t i = 0; i < n_whole; i += at_once)
            if (overlaps(box, area, i, at_once)) return false;
        if (overlaps(box, area, n_whole, n - n_whole)) return false;
        for (size_t c = 0; c < 4; ++c) sides[c].push_back(box[c]);
        areas.push_back(area);
        return true;
    }

  private:
    static constexpr size_t at_once = 16;

    bool overlaps(const T *box, T area, size_t first, size_t count) const {
        int result = 0;
        for (size_t i = first; i < first + count; ++i) {
            const T width = std::min(box[2], sides[2][i]) - std::max(box[0], sides[0][i]);
            const T height = std::min(box[3], sides[3][i]) - std::max(box[1], sides[1][i]);
            const T shared = std::max(width, T(0)) * std::max(height, T(0));
            // Empty boxes, whose quotient is NaN, overlap none.
            result |= shared / (areas[i] + area - shared) > bound;
        }
        return result != 0;
    }

    T bound;
    std::array<std::vector<T>, 4> sides;
    std::vector<T> areas;
};

}  // namespace

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
        KeptSides<T> sides(bound);
        for (size_t i = 0; i < n && kept.size() < most; ++i)
            if (sides.add(corners + 4 * i)) kept.push_back(static_cast<int64_t>(i));
    }
    return py::array_t<int64_t>(static_cast<py::ssize_t>(kept.size()), kept.data());
}

template py::array_t<int64_t> kept_boxes(const py::array_t<float, py::array::c_style> &, double,
                                         size_t);
template py::array_t<int64_t> kept_boxes(const py::array_t<double, py::array::c_style> &, double,
                                         size_t);

}  // namespace sycl_dnn
