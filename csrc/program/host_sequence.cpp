// SPDX-License-Identifier: Apache-2.0
#include "program/host_sequence.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.hpp"
#include "program/host_recurrence.hpp"
#include "program/host_rows.hpp"
#include "program/host_weights.hpp"

namespace sycl_dnn {

namespace {

using operation = HostSequence::operation;
using function = HostSequence::function;

// A loop: calls of memcpy would take longer than copies of few elements.
inline void copy(const float *x, int64_t n, float *y) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) std::memcpy(y + i, x + i, 4 * sizeof *y);
    for (; i < n; ++i) y[i] = x[i];
}

// Rows of a result in memory of the thread, `step` apart, of which n columns count.
class Tile {
  public:
    Tile(int64_t n, int64_t step)
        : n(n), step(step), most(std::max<int64_t>(4, elements / step / 4 * 4)) {
        rows = scratch(1, most * step).data();
    }

    // Memory for the next `count` rows, no more than there is room for.
    float *next(int64_t count = 1) { return rows + (n_rows += count) * step - count * step; }
    int64_t room() const { return most - n_rows; }

    // Applies the functions, and writes the rows from an element of the result on, `dst_step`
    // apart.
    void finish(const operation &o, float *const *arrays, int64_t at, int64_t dst_step) {
        for (const function &f : o.functions)
            if (f.operand < 0)
                f.apply(rows, n_rows * step, f.alpha, f.beta);
            else
                for (int64_t r = 0; r < n_rows; ++r)
                    f.combine(rows + r * step,
                              arrays[f.operand] + (f.alpha ? at + r * dst_step : 0), n);
        float *y = arrays[o.arrays.size() - 1] + at;
        if (step == n && dst_step == n)
            std::memcpy(y, rows, n_rows * n * sizeof *y);
        else
            for (int64_t r = 0; r < n_rows; ++r) copy(rows + r * step, n, y + r * dst_step);
        n_rows = 0;
    }

    int64_t count() const { return n_rows; }

  private:
    static constexpr int64_t elements = 2048;

    int64_t n, step, most, n_rows = 0;
    float *rows;
};

// Calls f with the elements before `Steps` arrays for each index of axes, which are rows of a size
// and the steps of the arrays.
template <size_t Steps, class F>
void for_each_place(const int64_t *axes, size_t n_axes, F f) {
    std::array<int64_t, Steps> places{};
    std::vector<int64_t> position(n_axes);
    for (;;) {
        f(places);
        size_t a = n_axes;
        for (; a > 0; --a) {
            const int64_t *axis = axes + (a - 1) * (Steps + 1);
            const bool wraps = ++position[a - 1] == axis[0];
            for (size_t i = 0; i < Steps; ++i) places[i] += (wraps ? 1 - axis[0] : 1) * axis[i + 1];
            if (!wraps) break;
            position[a - 1] = 0;
        }
        if (a == 0) return;
    }
}

// --- Products

// arrays: src, weights, bias, operands, dst. sizes: rows, n, k; step between rows of src; elements
// before the source that the first row begins, elements of a source; steps of the weights along k
// and n, and between rows of dst; then for each axis of batches its size, and the steps of src,
// weights and dst. Elements outside the source are 0.
void multiply(const operation &o, float *const *arrays) {
    const int64_t *s = o.sizes.data();
    const int64_t rows = s[0], n = s[1], k = s[2], step = s[3], lead = s[4], length = s[5];
    // The first row that is not all in the source from one on.
    const int64_t end_of_whole = step > 0 ? std::min(rows, (length + lead - k) / step + 1) : rows;
    for_each_place<3>(s + 9, (o.sizes.size() - 9) / 4, [&](const auto &places) {
        const Weights weights(arrays[1] + places[1], s[6], s[7], n, k, rows);
        Tile tile(n, weights.columns());
        for (int64_t r = 0; r < rows;) {
            const int64_t whole = r * step >= lead ? std::min(end_of_whole - r, tile.room()) : 0;
            const int64_t count = whole >= 4 ? whole / 4 * 4 : 1;
            const int64_t first = std::max<int64_t>(0, lead - r * step);
            const int64_t last = std::max(first, std::min(k, length + lead - r * step));
            const float *x = arrays[0] + places[0] + r * step - lead + first;
            const int64_t start = 0;
            weights.times(x, step, {1, last - first, &start}, first, count, arrays[2],
                          tile.next(count));
            r += count;
            if (r == rows || tile.room() < 4)
                tile.finish(o, arrays, places[2] + (r - tile.count()) * s[8], s[8]);
        }
    });
}

// --- Windows of images

// sizes: batches, channels, n; for rows and columns, how many the source and the result have, size,
// stride and dilation of the window, and padding before; steps between batches, rows and pixels of
// src and of dst; steps of the weights along k and n.
struct Windows {
    struct axis {
        int64_t n, n_results, size, stride, dilation, padding;
        int64_t source(int64_t result, int64_t i) const {
            return result * stride + i * dilation - padding;
        }
        // The elements of a window from the first one in the source to that after the last one.
        int64_t first(int64_t result) const {
            return std::max<int64_t>(0, (padding - result * stride + dilation - 1) / dilation);
        }
        int64_t last(int64_t result) const {
            const int64_t inside = n - source(result, 0);
            return inside > 0 ? std::min(size, (inside + dilation - 1) / dilation) : 0;
        }
        bool is_whole(int64_t result) const {
            return source(result, 0) >= 0 && source(result, size - 1) < n;
        }
    };
    int64_t batches, channels, n;
    axis rows, columns;
    int64_t src_steps[3], dst_steps[3], k_step, n_step;

    static constexpr size_t n_sizes = 23;
    explicit Windows(const operation &o) { std::memcpy(this, o.sizes.data(), sizeof *this); }

    int64_t n_pixels() const { return rows.size * columns.size; }
    int64_t place(int64_t row, int64_t column) const {
        return row * src_steps[1] + column * src_steps[2];
    }
    int64_t dst_place(int64_t batch, int64_t row, int64_t column) const {
        return batch * dst_steps[0] + row * dst_steps[1] + column * dst_steps[2];
    }
    int64_t src_place(int64_t row, int64_t column) const {
        return place(rows.source(row, 0), columns.source(column, 0));
    }

    // The windows from a result on, in its row, that are all in the source.
    int64_t n_whole(int64_t row, int64_t column) const {
        if (!rows.is_whole(row) || !columns.is_whole(column)) return 0;
        const int64_t last = (columns.n - columns.source(0, columns.size - 1) - 1) / columns.stride;
        return std::min(columns.n_results, last + 1) - column;
    }
    // The elements from the first pixel of a window to each.
    std::vector<int64_t> starts() const {
        std::vector<int64_t> result;
        for (int64_t i = 0; i < rows.size; ++i)
            for (int64_t j = 0; j < columns.size; ++j)
                result.push_back(place(i * rows.dilation, j * columns.dilation));
        return result;
    }
};
static_assert(sizeof(Windows) == Windows::n_sizes * sizeof(int64_t));

// Copies a window, with 0 for pixels outside the source.
void gather(const Windows &w, const float *x, int64_t row, int64_t column, float *y) {
    const int64_t first = w.columns.first(column), last = w.columns.last(column);
    const int64_t n_row = w.columns.size * w.channels;
    std::fill_n(y, w.rows.size * n_row, 0.0f);
    const bool is_joined = w.columns.dilation == 1 && w.src_steps[2] == w.channels;
    for (int64_t i = w.rows.first(row); i < w.rows.last(row); ++i) {
        const float *from = x + w.place(w.rows.source(row, i), w.columns.source(column, first));
        float *to = y + i * n_row + first * w.channels;
        if (is_joined && first < last)
            copy(from, (last - first) * w.channels, to);
        else
            for (int64_t j = first; j < last; ++j, to += w.channels)
                copy(from + (j - first) * w.columns.dilation * w.src_steps[2], w.channels, to);
    }
}

// arrays: src, weights, bias, operands, dst.
void convolve(const operation &o, float *const *arrays) {
    const Windows w(o);
    const int64_t k = w.n_pixels() * w.channels, n_columns = w.columns.n_results, zero = 0;
    const int64_t many = 1 << 20;  // rows: so that the weights are copied if they are turned
    const Weights weights(arrays[1], w.k_step, w.n_step, w.n, k, many);
    const bool is_joined = w.columns.dilation == 1 && w.src_steps[2] == w.channels;
    std::vector<int64_t> starts = w.starts();
    host_rows::segments parts{w.n_pixels(), w.channels, starts.data()};
    if (is_joined) {  // pixels of a row follow each other
        for (int64_t i = 0; i < w.rows.size; ++i) starts[i] = starts[i * w.columns.size];
        parts = {w.rows.size, w.columns.size * w.channels, starts.data()};
    }
    float *gathered = scratch(2, 4 * k).data();
    Tile tile(w.n, weights.columns());
    for (int64_t batch = 0; batch < w.batches; ++batch)
        for (int64_t row = 0; row < w.rows.n_results; ++row)
            for (int64_t c = 0; c < n_columns;) {
                const float *x = arrays[0] + batch * w.src_steps[0];
                const int64_t whole = std::min(w.n_whole(row, c), tile.room());
                const int64_t count = whole >= 4 ? whole / 4 * 4 : c + 4 <= n_columns ? 4 : 1;
                float *y = tile.next(count);
                if (whole >= count)
                    weights.times(x + w.src_place(row, c), w.columns.stride * w.src_steps[2], parts,
                                  0, count, arrays[2], y);
                else {
                    for (int64_t i = 0; i < count; ++i) gather(w, x, row, c + i, gathered + i * k);
                    weights.times(gathered, k, {1, k, &zero}, 0, count, arrays[2], y);
                }
                c += count;
                if (c == n_columns || tile.room() < 4)
                    tile.finish(o, arrays, w.dst_place(batch, row, c - tile.count()),
                                w.dst_steps[2]);
            }
}

// Calls f with the first of some pixels, the step between them, their number, the elements before
// each pixel of their windows that is inside the source and before its weights, the number of
// these, and the rows for the results.
template <class F>
void by_channel(const operation &o, float *const *arrays, F f) {
    const Windows w(o);
    const int64_t step = w.columns.stride * w.src_steps[2];
    const std::vector<int64_t> starts = w.starts();
    std::vector<int64_t> of_weights(w.n_pixels()), inner(w.n_pixels()), inner_weights = inner;
    for (int64_t i = 0; i < w.n_pixels(); ++i) of_weights[i] = i * w.k_step;
    Tile tile(w.n, w.n);
    const auto inside = [&](int64_t row, int64_t column) {
        const int64_t first = w.columns.first(column), last = w.columns.last(column);
        int64_t count = 0;
        for (int64_t i = w.rows.first(row), end = w.rows.last(row); i < end; ++i)
            for (int64_t j = first; j < last; ++j) {
                inner_weights[count] = of_weights[i * w.columns.size + j];
                inner[count++] = w.place(w.rows.source(row, i), w.columns.source(column, j));
            }
        return count;
    };
    for (int64_t batch = 0; batch < w.batches; ++batch)
        for (int64_t row = 0; row < w.rows.n_results; ++row)
            for (int64_t c = 0; c < w.columns.n_results;) {
                const float *x = arrays[0] + batch * w.src_steps[0];
                const int64_t whole = std::min(w.n_whole(row, c), tile.room());
                const int64_t count = std::max<int64_t>(whole, 1);
                float *y = tile.next(count);
                if (whole)
                    f(x + w.src_place(row, c), step, count, starts.data(), of_weights.data(),
                      w.n_pixels(), y);
                else {
                    const int64_t n = inside(row, c);
                    f(x, step, 1, inner.data(), inner_weights.data(), n, y);
                }
                c += count;
                if (c == w.columns.n_results || !tile.room())
                    tile.finish(o, arrays, w.dst_place(batch, row, c - tile.count()),
                                w.dst_steps[2]);
            }
}

// arrays: src, weights, bias, operands, dst.
void convolve_depthwise(const operation &o, float *const *arrays) {
    const auto sum = host_rows::fast().sum_of_products;
    by_channel(o, arrays,
               [&](const float *x, int64_t step, int64_t pixels, const int64_t *starts,
                   const int64_t *of_weights, int64_t count, float *y) {
                   sum(x, step, pixels, starts, arrays[1], of_weights, count, o.sizes[2], arrays[2],
                       y);
               });
}

// arrays: src, operands, dst.
void find_greatest(const operation &o, float *const *arrays) {
    const auto greatest = host_rows::fast().greatest;
    by_channel(
        o, arrays,
        [&](const float *x, int64_t step, int64_t pixels, const int64_t *starts, const int64_t *,
            int64_t count, float *y) { greatest(x, step, pixels, starts, count, o.sizes[2], y); });
}

// --- Rows

// Calls f with the index of each row of a result, and memory for it.
template <class F>
void by_row(const operation &o, float *const *arrays, int64_t rows, int64_t n, F f) {
    Tile tile(n, n);
    for (int64_t r = 0; r < rows;) {
        f(r, tile.next());
        if (++r == rows || !tile.room()) tile.finish(o, arrays, (r - tile.count()) * n, n);
    }
}

// arrays: src, operands, dst. sizes: batches, rows, columns.
void average(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2];
    by_row(o, arrays, o.sizes[0], n, [&](int64_t batch, float *y) {
        host_rows::fast().mean_of_rows(arrays[0] + batch * rows * n, rows, n, y);
    });
}

// arrays: src, factors, operands, dst. sizes: batches, rows, columns.
void scale(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2];
    const auto multiply_by = host_rows::fast().combination_of(dnnl_binary_mul);
    by_row(o, arrays, o.sizes[0] * rows, n, [&](int64_t r, float *y) {
        std::memcpy(y, arrays[0] + r * n, n * sizeof *y);
        multiply_by(y, arrays[1] + r / rows * n, n);
    });
}

// arrays: src, operands, dst. sizes: rows, columns.
void normalize_powers(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1];
    by_row(o, arrays, o.sizes[0], n,
           [&](int64_t r, float *y) { host_rows::fast().softmax(arrays[0] + r * n, n, y); });
}

// arrays: src, scale, shift, operands, dst. sizes: rows, columns. numbers: epsilon.
void normalize_rows(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1];
    by_row(o, arrays, o.sizes[0], n, [&](int64_t r, float *y) {
        host_rows::fast().normalize(arrays[0] + r * n, n, o.numbers[0], arrays[1], arrays[2], y);
    });
}

using operation_runner = void (*)(const operation &, float *const *arrays);

struct operation_kind {
    const char *name;
    size_t n_arrays, n_sizes, n_numbers;  // at least
    operation_runner run;
};

const operation_kind operation_kinds[] = {
    {"product", 4, 9, 0, multiply},
    {"convolution", 4, Windows::n_sizes, 0, convolve},
    {"depthwise", 4, Windows::n_sizes, 0, convolve_depthwise},
    {"maximum", 2, Windows::n_sizes, 0, find_greatest},
    {"mean", 2, 3, 0, average},
    {"scale", 3, 3, 0, scale},
    {"softmax", 2, 2, 0, normalize_powers},
    {"layer_norm", 4, 2, 1, normalize_rows},
    {"recurrence", 7, n_recurrence_sizes, 0, recur},
};

operation_runner runner_of(const operation &o) {
    for (const operation_kind &k : operation_kinds)
        if (o.kind == k.name && o.arrays.size() >= k.n_arrays && o.sizes.size() >= k.n_sizes &&
            o.numbers.size() >= k.n_numbers)
            return k.run;
    throw invalid_arguments("Kernel.sequence: " + o.kind +
                            " is no operation of host sequences, or lacks arrays or sizes");
}

void find(function &f, const operation &o) {
    const bool is_known = f.operand < static_cast<int>(o.arrays.size());
    if (f.operand < 0)
        f.apply = host_rows::fast().function_of(f.algorithm);
    else if (is_known)
        f.combine = host_rows::fast().combination_of(f.algorithm);
    if (!f.apply && !f.combine)
        throw invalid_arguments("Kernel.sequence: algorithm " + std::to_string(f.algorithm) +
                                " is not one that host sequences apply");
}

}  // namespace

bool HostSequence::has(int algorithm) { return host_rows::fast().function_of(algorithm); }

void HostSequence::append(operation what) {
    const auto run_one = runner_of(what);
    for (function &f : what.functions) find(f, what);
    const std::vector<place> arrays = what.arrays;
    steps.push_back({arrays, [run_one, what = std::move(what)](void *const *addresses) {
                         run_one(what, reinterpret_cast<float *const *>(addresses));
                     }});
}

void HostSequence::append(std::shared_ptr<const HostWork> work, std::vector<place> arrays) {
    steps.push_back({std::move(arrays),
                     [work = std::move(work)](void *const *addresses) { work->run(addresses); }});
}

void HostSequence::append(std::shared_ptr<const SpirvInterpreter> kernel, std::vector<place> arrays,
                          std::vector<uint64_t> numbers, size_t n_groups,
                          std::vector<int32_t> facts) {
    const size_t n = arrays.size();
    steps.push_back({std::move(arrays), [=, kernel = std::move(kernel), words = std::move(numbers),
                                         facts = std::move(facts)](void *const *addresses) {
                         std::vector<uint64_t> parameters;
                         if (facts.empty())
                             for (size_t i = 0; i < n; ++i)
                                 parameters.push_back(reinterpret_cast<uintptr_t>(addresses[i]));
                         else
                             parameters = {reinterpret_cast<uintptr_t>(addresses),
                                           reinterpret_cast<uintptr_t>(facts.data())};
                         parameters.insert(parameters.end(), words.begin(), words.end());
                         kernel->run(parameters, n_groups);
                     }});
}

void HostSequence::run(void *const *addresses) const {
    std::vector<void *> chosen;
    for (const step &s : steps) {
        chosen.clear();
        for (const auto &[position, before] : s.arrays)
            chosen.push_back(position < 0 ? nullptr
                                          : static_cast<char *>(addresses[position]) + before);
        s.run(chosen.data());
    }
}

}  // namespace sycl_dnn
