// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sycl_dnn {

// Loops over rows of float32, compiled for several instruction sets. NaN stays NaN.
struct host_rows {
    // Columns that the weights of `multiply_fours` and `multiply_one` have at least.
    static constexpr int64_t least_columns = 16;

    // Parts of a row of x that are read one after another.
    struct segments {
        int64_t n, length;
        const int64_t *starts;
    };

    // Rows of x, as many as a multiple of four and `x_step` apart, times a matrix of n columns
    // whose rows are `w_step` apart, plus `start`, if it is given.
    void (*multiply_fours)(const float *x, int64_t x_step, int64_t rows, const segments &parts,
                           const float *w, int64_t w_step, int64_t n, const float *start, float *y,
                           int64_t y_step);
    void (*multiply_one)(const float *x, const segments &parts, const float *w, int64_t w_step,
                         int64_t n, const float *start, float *y);
    // One row times the transpose of (n, w_step), of which k columns count.
    void (*multiply_narrow)(const float *x, const float *w, int64_t w_step, int64_t n, int64_t k,
                            const float *start, float *y);
    // For each pixel, `x_step` apart, the sum of the products of rows that begin at these elements,
    // and the greatest element of each column.
    void (*sum_of_products)(const float *x, int64_t x_step, int64_t pixels, const int64_t *x_starts,
                            const float *w, const int64_t *w_starts, int64_t rows, int64_t n,
                            const float *start, float *y);
    void (*greatest)(const float *x, int64_t x_step, int64_t pixels, const int64_t *starts,
                     int64_t rows, int64_t n, float *y);
    void (*mean_of_rows)(const float *x, int64_t rows, int64_t n, float *y);
    void (*softmax)(const float *x, int64_t n, float *y);
    // The factors and the summands of the columns may be null. Returns mean and variance.
    struct moments {
        float mean, variance;
    };
    moments (*normalize)(const float *x, int64_t n, float epsilon, const float *factors,
                         const float *summands, float *y);
    // The sums of rows' differences from a row, and of their squares; y = (x - means) factors +
    // summands.
    void (*add_up)(const float *x, int64_t rows, int64_t n, const float *near, float *sums,
                   float *squares);
    void (*shift)(const float *x, int64_t n, const float *means, const float *factors,
                  const float *summands, float *y);
    // How many elements precede each one: smaller ones, and equal ones before it. Both arrays have
    // room for whole registers.
    void (*rank)(const int32_t *keys, int64_t n, int32_t *ranks);

    // The next state of n elements from the gates i, f, g, o, each n elements; changes the cell
    // state.
    void (*lstm)(const float *gates, int64_t n, float *cell, float *y);
    // The same from the products of the input and of the state, both with the gates z, r, n, and
    // the bias of the latter that r scales.
    void (*gru)(const float *of_input, const float *of_state, const float *bias, const float *state,
                int64_t n, float *y);

    // An element-wise algorithm of oneDNN, or one of a row with another; null for other algorithms.
    // That of relu and another row has its slopes there.
    using function = void (*)(float *y, int64_t n, float alpha, float beta);
    using combination = void (*)(float *y, const float *x, int64_t n);
    function (*function_of)(int algorithm);
    combination (*combination_of)(int algorithm);

    // y = f(a, b, c) for n elements each, where f is an operation of kernels/expression.py with at
    // most three operands; null if it is another one. All bits of what is true are 1.
    using term = void (*)(const float *a, const float *b, const float *c, int64_t n, float *y);
    term (*term_of)(const std::string &operation);

    // The same where operands or the result are integers, or truth values that are compared, for
    // the types of the last operand and of the result: float32 (f), int32 (i), int64 (l), or
    // whether something is true (b), a word whose bits are equal.
    using typed_term = void (*)(const void *const *operands, int64_t n, void *y);
    typed_term (*typed_term_of)(const std::string &operation, char from, char to);

    // The reductions of (outer, n, columns) along the middle axis; null if there is none.
    using reduction = void (*)(const void *x, int64_t outer, int64_t n, int64_t columns, void *y);
    reduction (*reduction_of)(const std::string &operation, char from, char to);

    // Those of as many instructions as oneDNN uses.
    static const host_rows &fast();
};

}  // namespace sycl_dnn
