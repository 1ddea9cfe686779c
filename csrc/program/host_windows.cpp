// SPDX-License-Identifier: Apache-2.0
#include "program/host_windows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "program/host_rows.hpp"
#include "program/host_tile.hpp"
#include "program/host_weights.hpp"

namespace sycl_dnn {

namespace {

// Each multiplication by channel reads its numbers, and so takes as long as several of a product.
constexpr int64_t work_by_channel = 8;
// Lines that are too few for two threads.
constexpr int64_t few_lines = 8;

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

    explicit Windows(const HostSequence::operation &o) {
        std::memcpy(this, o.sizes.data(), sizeof *this);
    }

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
static_assert(sizeof(Windows) == n_window_sizes * sizeof(int64_t));

// The elements that an axis lacks before and after those of the source.
std::pair<int64_t, int64_t> missing(const Windows::axis &a) {
    const int64_t last = a.source(a.n_results - 1, a.size - 1);
    return {std::max<int64_t>(0, a.padding), std::max<int64_t>(0, last - a.n + 1)};
}

// A copy of the source with 0 around it, whose windows `w` then has; three pixels may follow each.
const float *padded(Windows &w, const float *x) {
    const auto [above, below] = missing(w.rows);
    const auto [left, right] = missing(w.columns);
    const int64_t height = w.rows.n + above + below, width = w.columns.n + left + right;
    const int64_t n_line = width * w.channels, n_columns = w.columns.n, n_rows = w.rows.n;
    const int64_t slack = 3 * w.columns.stride * w.channels;
    float *const copy = scratch(2, w.batches * height * n_line + slack).data();
    const auto &steps = w.src_steps;
    in_parts(w.batches * height, work_of_element * n_line, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            float *y = copy + i * n_line;
            const int64_t row = i % height - above;
            if (row < 0 || row >= n_rows) {
                std::fill_n(y, n_line, 0.0f);
                continue;
            }
            const float *from = x + i / height * steps[0] + row * steps[1];
            y = std::fill_n(y, left * w.channels, 0.0f);
            if (steps[2] == w.channels)
                std::memcpy(y, from, n_columns * w.channels * sizeof *y);
            else
                for (int64_t c = 0; c < n_columns; ++c)
                    copy_numbers(from + c * steps[2], w.channels, y + c * w.channels);
            std::fill_n(y + n_columns * w.channels, right * w.channels, 0.0f);
        }
    });
    std::fill_n(copy + w.batches * height * n_line, slack, 0.0f);
    w.rows.padding -= above;
    w.columns.padding -= left;
    w.rows.n = height;
    w.columns.n = width;
    w.src_steps[0] = height * n_line;
    w.src_steps[1] = n_line;
    w.src_steps[2] = w.channels;
    return copy;
}

// Calls f with the first of some pixels, the step between them, their number, the elements before
// each pixel of their windows that is inside the source and before its weights, the number of
// these, and the rows for the results.
template <class F>
void by_channel(const HostSequence::operation &o, float *const *arrays, F f) {
    const Windows w(o);
    const int64_t step = w.columns.stride * w.src_steps[2];
    const std::vector<int64_t> starts = w.starts();
    std::vector<int64_t> of_weights(w.n_pixels());
    for (int64_t i = 0; i < w.n_pixels(); ++i) of_weights[i] = i * w.k_step;
    const int64_t n_lines = w.batches * w.rows.n_results;
    const int64_t work = work_by_channel * w.columns.n_results * w.n * w.n_pixels();
    in_parts(n_lines, work, [&](int64_t begin, int64_t end) {
        std::vector<int64_t> inner(w.n_pixels()), inner_weights = inner;
        Tile tile(w.n, w.n);
        const auto inside = [&](int64_t row, int64_t column) {
            const int64_t first = w.columns.first(column), last = w.columns.last(column);
            int64_t count = 0;
            for (int64_t i = w.rows.first(row); i < w.rows.last(row); ++i)
                for (int64_t j = first; j < last; ++j) {
                    inner_weights[count] = of_weights[i * w.columns.size + j];
                    inner[count++] = w.place(w.rows.source(row, i), w.columns.source(column, j));
                }
            return count;
        };
        for (int64_t line = begin; line < end; ++line) {
            const int64_t batch = line / w.rows.n_results, row = line % w.rows.n_results;
            const float *x = arrays[0] + batch * w.src_steps[0];
            for (int64_t c = 0; c < w.columns.n_results;) {
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
    });
}

// With weights, a bias or null, and the elements before the first result.
void convolve(const HostSequence::operation &o, float *const *arrays, Windows w,
              const float *matrix, const float *bias, int64_t place) {
    const int64_t k = w.n_pixels() * w.channels, n_columns = w.columns.n_results;
    const int64_t many = 1 << 20;  // rows: so that the weights are copied if they are turned
    const Weights weights(matrix, w.k_step, w.n_step, w.n, k, many);
    const bool is_whole =
        missing(w.rows) == missing(w.columns) && missing(w.rows) == std::pair<int64_t, int64_t>();
    // Four pixels at a time are read: of shorter rows, some do not count.
    const float *source = is_whole && n_columns >= 4 ? arrays[0] : padded(w, arrays[0]);
    const bool is_joined = w.columns.dilation == 1 && w.src_steps[2] == w.channels;
    std::vector<int64_t> starts = w.starts();
    host_rows::segments parts{w.n_pixels(), w.channels, starts.data()};
    if (is_joined) {  // pixels of a row follow each other
        for (int64_t i = 0; i < w.rows.size; ++i) starts[i] = starts[i * w.columns.size];
        parts = {w.rows.size, w.columns.size * w.channels, starts.data()};
    }
    const int64_t n_lines = w.batches * w.rows.n_results;
    // The few lines of signals are divided.
    const int64_t n_pieces = n_lines < few_lines ? std::max<int64_t>(1, n_columns / 64) : 1;
    const int64_t piece = (n_columns + n_pieces - 1) / n_pieces;
    in_parts(n_lines * n_pieces, piece * w.n * k, [&](int64_t begin, int64_t end) {
        Tile tile(w.n, weights.columns());
        for (int64_t i = begin; i < end; ++i) {
            const int64_t line = i / n_pieces, start = i % n_pieces * piece;
            const int64_t stop = std::min(n_columns, start + piece);
            const int64_t batch = line / w.rows.n_results, row = line % w.rows.n_results;
            const float *x = source + batch * w.src_steps[0];
            for (int64_t c = start; c < stop;) {
                const int64_t rest = stop - c;
                // The last four overlap those before.
                const bool is_last = rest < 4, is_short = n_columns < 4;
                const int64_t count = is_last ? 4 : std::min(rest / 4 * 4, tile.room());
                if (is_last && !is_short) tile.drop(4 - rest);
                const int64_t first = is_last && !is_short ? stop - 4 : c;
                weights.times(x + w.src_place(row, first), w.columns.stride * w.src_steps[2], parts,
                              0, count, bias, tile.next(count));
                if (is_short) tile.drop(4 - rest);
                c = std::min(stop, first + count);
                if (c == stop || tile.room() < 4)
                    tile.finish(o, arrays, place + w.dst_place(batch, row, c - tile.count()),
                                w.dst_steps[2]);
            }
        }
    });
}

// A row of results: sums of the products of pixels with the columns of the weights for each pixel
// of a window, which are `step` apart in memory.
void add_shifted(const Windows &w, const float *products, int64_t step, const float *bias,
                 float *y) {
    for (int64_t c = 0; c < w.columns.n_results; ++c)
        for (int64_t j = 0; j < w.n; ++j) y[c * w.n + j] = bias ? bias[j] : 0;
    for (int64_t i = 0; i < w.columns.size; ++i) {
        const int64_t shift = w.columns.source(0, i);
        const int64_t first = std::max<int64_t>(0, -shift);
        const int64_t last = std::min(w.columns.n_results, w.columns.n - shift);
        const float *x = products + (first + shift) * step + i * w.n;
        for (int64_t c = first; c < last; ++c, x += step)
            for (int64_t j = 0; j < w.n; ++j) y[c * w.n + j] += x[j];
    }
}

// Those results of a transposed convolution along an axis whose places have a remainder: they are
// those of a convolution with every stride-th element of the kernel, the last one first.
Windows::axis with_remainder(const Windows::axis &a, int64_t remainder) {
    const int64_t first = (remainder + a.padding) % a.stride;
    const int64_t size = (a.size - first + a.stride - 1) / a.stride;
    const int64_t n_results = (a.n_results - remainder + a.stride - 1) / a.stride;
    return {a.n, n_results, size, 1, 1, size - 1 - (remainder + a.padding - first) / a.stride};
}

}  // namespace

// arrays: src, weights, bias, operands, dst.
void convolve(const HostSequence::operation &o, float *const *arrays) {
    convolve(o, arrays, Windows(o), arrays[1], arrays[2], 0);
}

// arrays: src, weights, bias, operands, dst. The columns of the weights are those of the results
// for each pixel of a row of a window: products of few results would not fill registers.
void convolve_narrow(const HostSequence::operation &o, float *const *arrays) {
    const Windows w(o);
    const int64_t n_products = w.columns.size * w.n, k = w.rows.size * w.channels, many = 1 << 20;
    const Weights weights(arrays[1], w.k_step, w.n_step, n_products, k, many);
    const int64_t column_step = o.sizes[n_window_sizes];  // of dst
    const int64_t n_pixels = w.columns.n, n_lines = w.batches * w.rows.n_results;
    in_parts(n_lines, n_pixels * n_products * k, [&](int64_t begin, int64_t end) {
        float *const products = scratch(2, n_pixels * weights.columns()).data();
        Tile tile(w.n, w.n);
        std::vector<int64_t> starts(w.rows.size);
        for (int64_t line = begin; line < end; ++line) {
            const int64_t batch = line / w.rows.n_results, row = line % w.rows.n_results;
            const int64_t first = w.rows.first(row);
            const int64_t n_rows = std::max<int64_t>(0, w.rows.last(row) - first);
            for (int64_t i = 0; i < n_rows; ++i)
                starts[i] = w.rows.source(row, first + i) * w.src_steps[1];
            const host_rows::segments parts{n_rows, w.channels, starts.data()};
            const float *x = arrays[0] + batch * w.src_steps[0];
            for (int64_t c = 0; c < n_pixels;) {
                const int64_t rest = n_pixels - c, count = rest < 4 ? 1 : rest / 4 * 4;
                weights.times(x + c * w.src_steps[2], w.src_steps[2], parts, first * w.channels,
                              count, nullptr, products + c * weights.columns());
                c += count;
            }
            float *y = tile.next_line(w.columns.n_results);
            add_shifted(w, products, weights.columns(), arrays[2], y);
            tile.finish(o, arrays, w.dst_place(batch, row, 0), w.dst_steps[2], column_step);
        }
    });
}

// arrays: src, weights, bias, operands, dst. The weights are those of the convolutions that compute
// the results by the remainders of their places, in order. If they have columns for all remainders
// along a row, each pixel of the source has its own results there.
void convolve_transposed(const HostSequence::operation &o, float *const *arrays) {
    Windows all(o);
    // Results of each pixel.
    const int64_t n = all.n_step == Weights::padded ? 1 : all.k_step / all.n;
    std::vector<float> biases;
    if (n > 1) {
        for (int64_t i = 0; arrays[2] && i < n; ++i)
            biases.insert(biases.end(), arrays[2], arrays[2] + all.n);
        all.n = all.dst_steps[2] = all.k_step;
        all.columns = {all.columns.n, all.columns.n, 1, 1, 1, 0};
    }
    const float *matrix = arrays[1], *bias = biases.empty() ? arrays[2] : biases.data();
    for (int64_t i = 0; i < all.rows.stride; ++i)
        for (int64_t j = 0; j < all.columns.stride; ++j) {
            Windows w = all;
            w.rows = with_remainder(all.rows, i);
            w.columns = with_remainder(all.columns, j);
            w.dst_steps[1] *= all.rows.stride;
            w.dst_steps[2] *= all.columns.stride;
            if (w.rows.n_results > 0 && w.columns.n_results > 0)
                convolve(o, arrays, w, matrix, bias, all.dst_place(0, i, j));
            matrix += w.n_pixels() * w.channels * w.k_step;
        }
}

// arrays: src, weights, bias, operands, dst.
void convolve_depthwise(const HostSequence::operation &o, float *const *arrays) {
    const auto sum = host_rows::fast().sum_of_products;
    by_channel(o, arrays,
               [&](const float *x, int64_t step, int64_t pixels, const int64_t *starts,
                   const int64_t *of_weights, int64_t count, float *y) {
                   sum(x, step, pixels, starts, arrays[1], of_weights, count, o.sizes[2], arrays[2],
                       y);
               });
}

// arrays: src, operands, dst.
void find_greatest(const HostSequence::operation &o, float *const *arrays) {
    const auto greatest = host_rows::fast().greatest;
    by_channel(
        o, arrays,
        [&](const float *x, int64_t step, int64_t pixels, const int64_t *starts, const int64_t *,
            int64_t count, float *y) { greatest(x, step, pixels, starts, count, o.sizes[2], y); });
}

// arrays: src, operands, dst. numbers: whether elements outside the source count.
void average_windows(const HostSequence::operation &o, float *const *arrays) {
    const auto sum = host_rows::fast().sum_of_products;
    const int64_t n = o.sizes[2];
    const Windows w(o);
    const std::vector<int64_t> same(w.n_pixels());
    by_channel(o, arrays,
               [&](const float *x, int64_t step, int64_t pixels, const int64_t *starts,
                   const int64_t *, int64_t count, float *y) {
                   float *factors = scratch(0, n).data();
                   std::fill_n(factors, n, 1.0f);
                   sum(x, step, pixels, starts, factors, same.data(), count, n, nullptr, y);
                   // Sums overflow as in PyTorch.
                   const auto divisor = static_cast<float>(o.numbers[0] ? w.n_pixels() : count);
                   for (int64_t i = 0; i < pixels * n; ++i) y[i] /= divisor;
               });
}

int64_t work_of_windows(const HostSequence::operation &o) {
    const Windows w(o);
    const int64_t n_positions =
        o.kind == "transposed" ? w.rows.n * w.columns.n : w.rows.n_results * w.columns.n_results;
    return w.batches * n_positions * w.n * w.n_pixels() *
           (o.kind == "depthwise" ? work_by_channel : w.channels);
}

}  // namespace sycl_dnn
