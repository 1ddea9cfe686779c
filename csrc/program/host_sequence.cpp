// SPDX-License-Identifier: Apache-2.0
#include "program/host_sequence.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/errors.hpp"
#include "program/host_blocks.hpp"
#include "program/host_order.hpp"
#include "program/host_recurrence.hpp"
#include "program/host_rows.hpp"
#include "program/host_tile.hpp"
#include "program/host_weights.hpp"
#include "program/host_windows.hpp"
#include "program/second_thread.hpp"

namespace sycl_dnn {

namespace {

using operation = HostSequence::operation;
using function = HostSequence::function;

// Calls f with the elements before some arrays for each index of axes, which are rows of a size and
// the steps of the arrays.
template <class F>
void for_each_place(const int64_t *axes, size_t n_axes, size_t n_arrays, F f) {
    std::vector<int64_t> places(n_arrays), position(n_axes);
    for (;;) {
        f(places);
        size_t a = n_axes;
        for (; a > 0; --a) {
            const int64_t *axis = axes + (a - 1) * (n_arrays + 1);
            const bool wraps = ++position[a - 1] == axis[0];
            for (size_t i = 0; i < n_arrays; ++i)
                places[i] += (wraps ? 1 - axis[0] : 1) * axis[i + 1];
            if (!wraps) break;
            position[a - 1] = 0;
        }
        if (a == 0) return;
    }
}

// --- Products

// sizes: rows, n, k; step between rows of src; elements before the source that the first row
// begins, elements of a source; steps of the weights along k and n, and between rows of dst; the
// step of src along k; then for each axis of batches its size, and the steps of src, weights, dst
// and the operands of functions. Elements outside the source are 0.
struct Product {
    int64_t rows, n, k, step, lead, length, k_step, n_step, dst_step, src_step;

    static constexpr size_t n_sizes = 10;
    explicit Product(const operation &o) { std::memcpy(this, o.sizes.data(), sizeof *this); }

    static size_t n_operands(const operation &o) {
        return std::count_if(o.functions.begin(), o.functions.end(),
                             [](const function &f) { return f.operand >= 0; });
    }
    // Numbers for each axis of batches.
    static size_t n_of_axis(const operation &o) { return 4 + n_operands(o); }

    // Returns the source with adjacent elements in each row: a copy of a transposed one.
    const float *adjacent(const float *src) {
        if (src_step == 1) return src;
        float *copy = scratch(2, rows * k).data();
        copy_matrix(src, rows, k, step, src_step, copy, k);
        step = k;
        return copy;
    }
};
static_assert(sizeof(Product) == Product::n_sizes * sizeof(int64_t));

// The rows from one to another; `place` is the number of elements before those of dst.
void multiply_rows(const operation &o, const Product &p, float *const *arrays, const float *src,
                   int64_t place, const Weights &weights, int64_t n, int64_t begin, int64_t end) {
    // The first row that is not all in the source from one on.
    const int64_t end_of_whole =
        p.step > 0 ? std::min(end, (p.length + p.lead - p.k) / p.step + 1) : end;
    Tile tile(n, weights.columns());
    for (int64_t r = begin; r < end;) {
        const int64_t whole = r * p.step >= p.lead ? std::min(end_of_whole - r, tile.room()) : 0;
        const int64_t count = whole >= 4 ? whole / 4 * 4 : 1;
        const int64_t first = std::max<int64_t>(0, p.lead - r * p.step);
        const int64_t last = std::max(first, std::min(p.k, p.length + p.lead - r * p.step));
        const float *x = src + r * p.step - p.lead + first;
        const int64_t start = 0;
        weights.times(x, p.step, {1, last - first, &start}, first, count, arrays[2],
                      tile.next(count));
        r += count;
        if (r == end || tile.room() < 4)
            tile.finish(o, arrays, place + (r - tile.count()) * p.dst_step, p.dst_step);
    }
}

// A product by panels of columns, whose weights stay in the cache of a processor: of few rows, so
// that there are parts for two threads.
void multiply_panels(const operation &o, const Product &p, float *const *arrays, const float *src) {
    const int64_t width = p.rows < 4 ? 64 : 256;
    const int64_t rows_of_line = p.rows < 48 ? 4 : p.rows < 192 ? 12 : 24;
    const int64_t n_panels = std::max<int64_t>(1, p.n / width);
    const int64_t n_lines = (p.rows + rows_of_line - 1) / rows_of_line;
    const int64_t work = std::min(p.rows, rows_of_line) * std::min(p.n, width) * p.k;
    in_parts(n_panels * n_lines, work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
            const int64_t panel = i / n_lines, line = i % n_lines;
            const int64_t last_line = std::min(n_lines, line + end - i);
            const int64_t first = panel * width;
            const int64_t n = (panel == n_panels - 1 ? p.n : first + width) - first;
            std::vector<float *> of_columns(arrays, arrays + o.arrays.size());
            for (size_t j = 2; j < of_columns.size(); ++j)
                if (of_columns[j]) of_columns[j] += first;
            const Weights weights(arrays[1] + first * p.n_step, p.k_step, p.n_step, n, p.k, p.rows);
            multiply_rows(o, p, of_columns.data(), src, 0, weights, n, line * rows_of_line,
                          std::min(p.rows, last_line * rows_of_line));
            i += last_line - line;
        }
    });
}

// arrays: src, weights, bias, operands, dst.
void multiply(const operation &o, float *const *arrays) {
    const size_t n_axes = (o.sizes.size() - Product::n_sizes) / Product::n_of_axis(o);
    Product p(o);
    if (!n_axes) {
        const float *src = p.adjacent(arrays[0]);
        if (p.rows < 4 || (p.n_step == 1 && p.n >= host_rows::least_columns))
            return multiply_panels(o, p, arrays, src);
        const Weights weights(arrays[1], p.k_step, p.n_step, p.n, p.k, p.rows);
        return in_parts((p.rows + 3) / 4, 4 * p.n * p.k, [&](int64_t begin, int64_t end) {
            const int64_t last = std::min(4 * end, p.rows);
            multiply_rows(o, p, arrays, src, 0, weights, p.n, 4 * begin, last);
        });
    }
    std::vector<std::vector<int64_t>> all;
    for_each_place(o.sizes.data() + Product::n_sizes, n_axes, Product::n_of_axis(o) - 1,
                   [&](const auto &places) { all.push_back(places); });
    in_parts(all.size(), p.rows * p.n * p.k, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const Weights weights(arrays[1] + all[i][1], p.k_step, p.n_step, p.n, p.k, p.rows);
            Product one = p;
            const float *src = one.adjacent(arrays[0] + all[i][0]);
            std::vector<float *> of_batch(arrays, arrays + o.arrays.size());
            const int64_t *place = all[i].data() + 3;
            for (const function &f : o.functions)  // those like the result are read at its places
                if (f.operand >= 0) of_batch[f.operand] += *place++ - (f.alpha ? all[i][2] : 0);
            multiply_rows(o, one, of_batch.data(), src, all[i][2], weights, p.n, 0, p.rows);
        }
    });
}

// arrays: diff_dst, src, none, diff_bias, diff_weights. The sizes are those of the product of the
// transposed diff_dst and src, whose rows' sums are diff_bias.
void differentiate_weights(const operation &o, float *const *arrays) {
    multiply(o, arrays);
    const Product p(o);
    if (!arrays[3]) return;
    std::fill_n(arrays[3], p.rows, 0.0f);
    for (int64_t i = 0; i < p.k; ++i)
        for (int64_t r = 0; r < p.rows; ++r) arrays[3][r] += arrays[0][r * p.step + i * p.src_step];
}

// --- Rows

// Calls f with the index of each row of a result, and memory for it.
template <class F>
void by_row(const operation &o, float *const *arrays, int64_t rows, int64_t n, int64_t work, F f) {
    in_parts(rows, work_of_element * work, [&](int64_t begin, int64_t end) {
        Tile tile(n, n);
        for (int64_t r = begin; r < end;) {
            f(r, tile.next());
            if (++r == end || !tile.room()) tile.finish(o, arrays, (r - tile.count()) * n, n);
        }
    });
}

// arrays: src, operands, dst. sizes: batches, rows, columns.
void average(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2];
    by_row(o, arrays, o.sizes[0], n, rows * n, [&](int64_t batch, float *y) {
        host_rows::fast().mean_of_rows(arrays[0] + batch * rows * n, rows, n, y);
    });
}

// arrays: src, factors, operands, dst. sizes: batches, rows, columns.
void scale(const operation &o, float *const *arrays) {
    const int64_t rows = o.sizes[1], n = o.sizes[2];
    const auto multiply_by = host_rows::fast().combination_of(dnnl_binary_mul);
    by_row(o, arrays, o.sizes[0] * rows, n, n, [&](int64_t r, float *y) {
        std::memcpy(y, arrays[0] + r * n, n * sizeof *y);
        multiply_by(y, arrays[1] + r / rows * n, n);
    });
}

// arrays: src, operands, dst. sizes: rows, columns.
void apply_functions(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1];
    by_row(o, arrays, o.sizes[0], n, n,
           [&](int64_t r, float *y) { copy_numbers(arrays[0] + r * n, n, y); });
}

// arrays: src, operands, dst. sizes: rows, columns.
void normalize_powers(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1];
    by_row(o, arrays, o.sizes[0], n, n,
           [&](int64_t r, float *y) { host_rows::fast().softmax(arrays[0] + r * n, n, y); });
}

// arrays: src, scale, shift, operands, with statistics mean and variance, dst. sizes: rows,
// columns, whether there are statistics. numbers: epsilon.
void normalize_rows(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1];
    float *const *statistics = o.sizes[2] ? arrays + o.arrays.size() - 3 : nullptr;
    by_row(o, arrays, o.sizes[0], n, n, [&](int64_t r, float *y) {
        const auto [mean, variance] = host_rows::fast().normalize(
            arrays[0] + r * n, n, o.numbers[0], arrays[1], arrays[2], y);
        if (!statistics) return;
        statistics[0][r] = mean;
        statistics[1][r] = variance;
    });
}

// arrays: src, scale, shift, operands, dst. sizes: batches, pixels, channels, groups. numbers:
// epsilon.
void normalize_groups(const operation &o, float *const *arrays) {
    const int64_t pixels = o.sizes[1], n = o.sizes[2], groups = o.sizes[3], of_group = n / groups;
    const host_rows &rows = host_rows::fast();
    std::vector<float> all(o.sizes[0] * 3 * n);  // means, factors and summands of each batch
    in_parts(o.sizes[0], work_of_element * pixels * n, [&](int64_t begin, int64_t end) {
        std::vector<float> sums(n), squares(n);
        for (int64_t batch = begin; batch < end; ++batch) {
            const float *x = arrays[0] + batch * pixels * n;
            float *means = &all[batch * 3 * n], *factors = means + n, *summands = factors + n;
            rows.mean_of_rows(x, pixels, n, factors);
            for (int64_t c = 0; c < n; c += of_group)
                std::fill_n(means + c, of_group,
                            std::accumulate(factors + c, factors + c + of_group, 0.0f) / of_group);
            rows.add_up(x, pixels, n, means, sums.data(), squares.data());
            for (int64_t c = 0; c < n; c += of_group) {
                // What the first sums have lost, as of rows.
                const auto mean_of = [=](const std::vector<float> &v) {
                    return std::accumulate(&v[c], &v[c] + of_group, 0.0f) / (pixels * of_group);
                };
                const float rest = mean_of(sums);
                const float variance = std::max(mean_of(squares) - rest * rest, 0.0f);
                for (int64_t i = c; i < c + of_group; ++i) {
                    means[i] += rest;
                    factors[i] = (arrays[1] ? arrays[1][i] : 1) /
                                 std::sqrt(variance + static_cast<float>(o.numbers[0]));
                    summands[i] = arrays[2] ? arrays[2][i] : 0;
                }
            }
        }
    });
    by_row(o, arrays, o.sizes[0] * pixels, n, n, [&](int64_t r, float *y) {
        const float *means = &all[r / pixels * 3 * n];
        rows.shift(arrays[0] + r * n, n, means, means + n, means + 2 * n, y);
    });
}

constexpr int64_t work_of_byte = work_of_element / sizeof(float);

// Copies some bytes of a row of the result.
void join_row(const operation &o, float *const *arrays, int64_t r, int64_t begin, int64_t end) {
    const size_t n_sources = o.arrays.size() - 1;
    char *y = reinterpret_cast<char *>(arrays[n_sources]) + r * o.sizes[1];
    int64_t at = 0;
    for (size_t i = 0; i < n_sources && at < end; ++i) {
        const int64_t *const sizes = o.sizes.data() + 2 + 4 * i;
        const int64_t first = std::max(at, begin), last = std::min(at + sizes[0], end);
        const char *x = reinterpret_cast<const char *>(arrays[i]) + r % sizes[2] * sizes[1] +
                        r / sizes[2] * sizes[3];
        if (first < last) copy_run(x + first - at, last - first, y + first);
        at += sizes[0];
    }
}

// arrays: sources, dst. sizes, in bytes: rows, step of dst; for each source a row, the step between
// rows, rows of a group, and the step between groups. Long rows are divided.
void join(const operation &o, float *const *arrays) {
    constexpr int64_t most_of_part = 1 << 14;
    const int64_t step = o.sizes[1], n_parts = (step + most_of_part - 1) / most_of_part;
    const int64_t part = std::min(step, most_of_part);
    in_parts(o.sizes[0] * n_parts, work_of_byte * part, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % n_parts * part;
            join_row(o, arrays, i / n_parts, first, std::min(step, first + part));
        }
    });
}

// arrays: src, dst. sizes: number of axes; their sizes; steps of dst; for each but the last axis,
// the elements of src before each place; for the last one, the first element and length of each
// run.
void gather(const operation &o, float *const *arrays) {
    const int64_t n_axes = o.sizes[0], *const sizes = o.sizes.data() + 1;
    const int64_t *const steps = sizes + n_axes, *const tables = steps + n_axes;
    const int64_t *runs = tables, *const end = o.sizes.data() + o.sizes.size();
    int64_t n_rows = 1;
    for (int64_t a = 0; a + 1 < n_axes; ++a) {
        n_rows *= sizes[a];
        runs += sizes[a];
    }
    in_parts(n_rows, work_of_element * sizes[n_axes - 1], [&](int64_t begin, int64_t last) {
        for (int64_t r = begin; r < last; ++r) {
            const float *x = arrays[0];
            float *y = arrays[1];
            const int64_t *table = runs;
            for (int64_t a = n_axes - 1, rest = r; a-- > 0; rest /= sizes[a]) {
                table -= sizes[a];
                x += table[rest % sizes[a]];
                y += rest % sizes[a] * steps[a];
            }
            for (const int64_t *run = runs; run < end; y += run[1], run += 2)
                if (run[1] < 64)
                    copy_numbers(x + run[0], run[1], y);
                else
                    std::memcpy(y, x + run[0], run[1] * sizeof *y);
        }
    });
}

// arrays: indices, src, dst. sizes: rows, columns; step of the indices, and their bytes; rows of
// src and the step between them; whether negative indices count from the end; step between rows of
// dst. Rows that src lacks are NaN.
template <class Index>
void gather_rows_at(const operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1], n_rows = o.sizes[4];
    const auto *indices = reinterpret_cast<const Index *>(arrays[0]);
    in_parts(o.sizes[0], work_of_element * n, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int64_t row = indices[r * o.sizes[2]];
            row += row < 0 && o.sizes[6] ? n_rows : 0;
            float *y = arrays[2] + r * o.sizes[7];
            if (row >= 0 && row < n_rows)
                std::memcpy(y, arrays[1] + row * o.sizes[5], n * sizeof *y);
            else
                std::fill_n(y, n, std::numeric_limits<float>::quiet_NaN());
        }
    });
}

void gather_rows(const operation &o, float *const *arrays) {
    o.sizes[3] == 4 ? gather_rows_at<int32_t>(o, arrays) : gather_rows_at<int64_t>(o, arrays);
}

using operation_runner = void (*)(const operation &, float *const *arrays);

struct operation_kind {
    const char *name;
    size_t n_arrays, n_sizes, n_numbers;  // at least
    operation_runner run;
};

const operation_kind operation_kinds[] = {
    {"product", 4, Product::n_sizes, 0, multiply},
    {"weight_gradient", 5, Product::n_sizes, 0, differentiate_weights},
    {"convolution", 4, n_window_sizes, 0, convolve},
    {"narrow", 4, n_window_sizes + 1, 0, convolve_narrow},
    {"depthwise", 4, n_window_sizes, 0, convolve_depthwise},
    {"maximum", 2, n_window_sizes, 0, find_greatest},
    {"average", 2, n_window_sizes, 1, average_windows},
    {"transposed", 4, n_window_sizes, 0, convolve_transposed},
    {"mean", 2, 3, 0, average},
    {"scale", 3, 3, 0, scale},
    {"functions", 2, 2, 0, apply_functions},
    {"join", 2, 6, 0, join},
    {"gather", 2, 5, 0, gather},
    {"rows", 3, 8, 0, gather_rows},
    {"softmax", 2, 2, 0, normalize_powers},
    {"layer_norm", 4, 3, 1, normalize_rows},
    {"blocks", 5, n_block_sizes, 0, multiply_blocks},
    {"group_norm", 4, 4, 1, normalize_groups},
    {"order", 2, n_order_sizes, 0, order_rows},
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

// Multiplications of a sequence that are worth a second thread, and to wake it.
constexpr int64_t least_of_sequence = 1 << 18, least_of_long_sequence = 1 << 21;

// The multiplications of an operation.
int64_t work_of(const operation &o) {
    if (o.kind == "product" || o.kind == "weight_gradient") {
        const Product p(o);
        int64_t work = p.rows * p.n * p.k;
        for (size_t i = Product::n_sizes; i < o.sizes.size(); i += Product::n_of_axis(o))
            work *= o.sizes[i];
        return work;
    }
    if (o.kind == "join") return work_of_byte * o.sizes[0] * o.sizes[1];
    if (o.kind == "blocks") return work_of_blocks(o);
    const bool has_windows = o.kind == "convolution" || o.kind == "narrow" ||
                             o.kind == "depthwise" || o.kind == "transposed";
    return has_windows ? work_of_windows(o) : 0;
}

}  // namespace

bool HostSequence::has(int algorithm) { return host_rows::fast().function_of(algorithm); }

void HostSequence::append(operation what) {
    const auto run_one = runner_of(what);
    for (function &f : what.functions) find(f, what);
    work += work_of(what);
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
    const SecondThread second(work >= least_of_sequence, work < least_of_long_sequence);
    for (const step &s : steps) run_step(s, addresses);
}

void HostSequence::run_part(size_t i, void *const *addresses) const {
    const SecondThread second(work >= least_of_sequence, work < least_of_long_sequence);
    run_step(steps[i], addresses);
}

void HostSequence::run_step(const step &s, void *const *addresses) {
    std::vector<void *> chosen;
    for (const auto &[position, before] : s.arrays)
        chosen.push_back(position < 0 ? nullptr
                                      : static_cast<char *>(addresses[position]) + before);
    s.run(chosen.data());
}

std::vector<int> HostSequence::values_of_part(size_t i) const {
    std::vector<int> positions;
    for (const auto &[position, before] : steps[i].arrays) positions.push_back(position);
    return positions;
}

}  // namespace sycl_dnn
