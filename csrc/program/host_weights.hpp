// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "program/host_rows.hpp"

namespace sycl_dnn {

// Memory of a thread: values of one operation, which the next ones write again.
inline std::vector<float> &scratch(int which, size_t n) {
    thread_local std::vector<float> arrays[3];
    if (arrays[which].size() < n) arrays[which].resize(n);
    return arrays[which];
}

// A matrix (k, n) with at least as many columns as loops need, or the transpose of (n, step).
class Weights {
  public:
    Weights(const float *w, int64_t k_step, int64_t n_step, int64_t n, int64_t k, int64_t rows)
        : values(w), step(k_step), n(n), wide(std::max(n, host_rows::least_columns)) {
        if (n == wide && n_step == 1) return;
        is_turned = k_step == 1 && rows < rows_for_copies;
        step = is_turned ? n_step : wide;
        if (is_turned) return;
        std::vector<float> &copy = scratch(0, k * wide);
        values = copy.data();
        for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = 0; j < n; ++j) copy[i * wide + j] = w[i * k_step + j * n_step];
            std::fill_n(&copy[i * wide + n], wide - n, 0.0f);
        }
    }

    // One row of x, or a multiple of four, plus `bias`; the rows of weights from `first` on are
    // multiplied.
    void times(const float *x, int64_t x_step, const host_rows::segments &parts, int64_t first,
               int64_t count, const float *bias, float *y) const {
        const auto &fast = host_rows::fast();
        const float *start = n == wide || is_turned ? bias : nullptr;
        const float *w = values + first * (is_turned ? 1 : step);
        if (is_turned)
            for (int64_t r = 0; r < count; ++r)
                fast.multiply_narrow(x + r * x_step, w, step, n, parts.length, start, y + r * wide);
        else if (count % 4 == 0)
            fast.multiply_fours(x, x_step, count, parts, w, step, wide, start, y, wide);
        else
            fast.multiply_one(x, parts, w, step, wide, start, y);
        if (bias && !start)
            for (int64_t r = 0; r < count; ++r)
                for (int64_t j = 0; j < n; ++j) y[r * wide + j] += bias[j];
    }

    int64_t columns() const { return wide; }

  private:
    static constexpr int64_t rows_for_copies = 8;

    const float *values;
    int64_t step, n, wide;
    bool is_turned = false;
};

}  // namespace sycl_dnn
