// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "program/host_rows.hpp"

namespace sycl_dnn {

// Memory of a thread: values of one operation, which the next ones write again.
inline std::vector<float> &scratch(int which, size_t n) {
    thread_local std::vector<float> arrays[3];
    if (arrays[which].size() < n) arrays[which].resize(n);
    return arrays[which];
}

// Four rows of four numbers, `x_step` apart, as columns.
inline void turn_square(const float *x, int64_t x_step, float *y, int64_t y_step) {
    using numbers = float __attribute__((vector_size(16)));
    using places = int __attribute__((vector_size(16)));
    numbers rows[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&rows[i], x + i * x_step, sizeof rows[i]);
    const places low{0, 4, 1, 5}, high{2, 6, 3, 7}, first{0, 1, 4, 5}, second{2, 3, 6, 7};
    const numbers a = __builtin_shuffle(rows[0], rows[1], low);
    const numbers b = __builtin_shuffle(rows[2], rows[3], low);
    const numbers c = __builtin_shuffle(rows[0], rows[1], high);
    const numbers d = __builtin_shuffle(rows[2], rows[3], high);
    const numbers columns[] = {__builtin_shuffle(a, b, first), __builtin_shuffle(a, b, second),
                               __builtin_shuffle(c, d, first), __builtin_shuffle(c, d, second)};
    for (int i = 0; i < 4; ++i) std::memcpy(y + i * y_step, &columns[i], sizeof columns[i]);
}

// Copies a matrix in blocks, whose lines stay in the cache; a turned one in squares.
inline void copy_matrix(const float *x, int64_t rows, int64_t columns, int64_t row_step,
                        int64_t column_step, float *y, int64_t y_step) {
    constexpr int64_t block = 16, side = 4;
    const auto copy = [&](int64_t r0, int64_t c0, int64_t r1, int64_t c1) {
        for (int64_t r = r0; r < r1; ++r)
            for (int64_t c = c0; c < c1; ++c) y[r * y_step + c] = x[r * row_step + c * column_step];
    };
    for (int64_t r0 = 0; r0 < rows; r0 += block)
        for (int64_t c0 = 0; c0 < columns; c0 += block) {
            const int64_t r1 = std::min(rows, r0 + block), c1 = std::min(columns, c0 + block);
            if (row_step != 1 || r1 - r0 < block || c1 - c0 < block) {
                copy(r0, c0, r1, c1);
                continue;
            }
            for (int64_t c = c0; c < c1; c += side)
                for (int64_t r = r0; r < r1; r += side)
                    turn_square(x + r + c * column_step, column_step, y + r * y_step + c, y_step);
        }
}

// A matrix (k, n) with at least as many columns as loops need, or the transpose of (n, step).
class Weights {
  public:
    // The step along n of weights with 0 in the columns that they lack.
    static constexpr int64_t padded = -1;

    Weights(const float *w, int64_t k_step, int64_t n_step, int64_t n, int64_t k, int64_t rows)
        : values(w), step(k_step), n(n), wide(std::max(n, host_rows::least_columns)) {
        if (n_step == padded || (n == wide && n_step == 1)) return;
        is_turned = k_step == 1 && rows < rows_for_copies;
        step = is_turned ? n_step : wide;
        if (is_turned) return;
        std::vector<float> &copy = scratch(0, k * wide);
        values = copy.data();
        copy_matrix(w, k, n, k_step, n_step, copy.data(), wide);
        for (int64_t i = 0; i < k; ++i) std::fill_n(&copy[i * wide + n], wide - n, 0.0f);
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
