// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>

#include "program/host_sequence.hpp"
#include "program/host_weights.hpp"
#include "program/second_thread.hpp"

namespace sycl_dnn {

// A loop: calls of memcpy would take longer than copies of few bytes. The last bytes overlap those
// before them.
inline void copy_run(const char *x, int64_t n, char *y) {
    constexpr int64_t at_once = 16;
    if (n >= 256) {
        std::memcpy(y, x, n);
    } else if (n >= at_once) {
        for (int64_t i = 0; i + at_once < n; i += at_once) std::memcpy(y + i, x + i, at_once);
        std::memcpy(y + n - at_once, x + n - at_once, at_once);
    } else {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i];
    }
}

// The same for numbers.
inline void copy_numbers(const float *x, int64_t n, float *y) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) std::memcpy(y + i, x + i, 4 * sizeof *y);
    for (; i < n; ++i) y[i] = x[i];
}

// Rows of a result in memory of the thread, `step` apart, of which n columns count.
class Tile {
  public:
    Tile(int64_t n, int64_t step)
        : n(n), step(step), most(std::max<int64_t>(4, elements / step / 4 * 4)) {
        // Four rows that overlap the last ones may begin before the first.
        rows = scratch(1, (most + 3) * step).data() + 3 * step;
    }

    // Memory for the next `count` rows, no more than there is room for.
    float *next(int64_t count = 1) { return rows + (n_rows += count) * step - count * step; }
    // The same for any number of them, if there are no others.
    float *next_line(int64_t count) {
        rows = scratch(1, count * step).data();
        n_rows = count;
        return rows;
    }
    // The last rows do not count.
    void drop(int64_t count) { n_rows -= count; }
    int64_t room() const { return most - n_rows; }

    // Applies the functions, and writes the rows from an element of the result on, `dst_step`
    // apart.
    void finish(const HostSequence::operation &o, float *const *arrays, int64_t at,
                int64_t dst_step) {
        const int64_t own_step = apply(o, arrays, at, dst_step);
        float *y = arrays[o.arrays.size() - 1] + at;
        if (dst_step == n && own_step == n)
            std::memcpy(y, rows, n_rows * n * sizeof *y);
        else
            for (int64_t r = 0; r < n_rows; ++r)
                copy_numbers(rows + r * own_step, n, y + r * dst_step);
        n_rows = 0;
    }

    // The same if the elements of a row are `column_step` apart; no operands are like the result.
    void finish(const HostSequence::operation &o, float *const *arrays, int64_t at,
                int64_t dst_step, int64_t column_step) {
        if (column_step == 1) return finish(o, arrays, at, dst_step);
        const int64_t own_step = apply(o, arrays, at, dst_step);
        float *y = arrays[o.arrays.size() - 1] + at;
        for (int64_t j = 0; j < n; ++j)
            for (int64_t r = 0; r < n_rows; ++r)
                y[j * column_step + r * dst_step] = rows[r * own_step + j];
        n_rows = 0;
    }

    int64_t count() const { return n_rows; }

  private:
    static constexpr int64_t elements = 4096;

    // Returns the step between the rows then.
    int64_t apply(const HostSequence::operation &o, float *const *arrays, int64_t at,
                  int64_t dst_step) {
        // Functions of many columns that do not count would take most of the time.
        const int64_t own_step = 2 * n > step || o.functions.empty() ? step : n;
        for (int64_t r = 1; own_step != step && r < n_rows; ++r)
            copy_numbers(rows + r * step, n, rows + r * n);
        for (const HostSequence::function &f : o.functions)
            if (f.operand < 0)
                f.apply(rows, n_rows * own_step, f.alpha, f.beta);
            else
                for (int64_t r = 0; r < n_rows; ++r)
                    f.combine(rows + r * own_step,
                              arrays[f.operand] + (f.alpha ? at + r * dst_step : 0), n);
        return own_step;
    }

    int64_t n, step, most, n_rows = 0;
    float *rows;
};

// Multiplications of a part of an operation that are worth a second thread, and those that take
// about as long as an element of a row that is copied.
constexpr int64_t least_of_part = 1 << 15, work_of_element = 8;

// Calls f with the first lines of parts of an operation, and those after their last ones.
template <class F>
void in_parts(int64_t n_lines, int64_t work_of_line, F f) {
    const int64_t size = std::max<int64_t>(1, least_of_part / std::max<int64_t>(1, work_of_line));
    SecondThread::each((n_lines + size - 1) / size,
                       [&](int64_t i) { f(i * size, std::min(n_lines, (i + 1) * size)); });
}

}  // namespace sycl_dnn
