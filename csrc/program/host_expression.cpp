// SPDX-License-Identifier: Apache-2.0
#include "program/host_expression.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/errors.hpp"
#include "program/host_tile.hpp"

namespace sycl_dnn {

namespace {

// Elements that are computed at a time: the values of all terms stay in the cache.
constexpr int64_t most_at_once = 256;
// Multiplications that take about as long as an element of a term.
constexpr int64_t work_of_term = 2;

}  // namespace

HostExpression::HostExpression(std::vector<int64_t> axes, std::vector<std::vector<int64_t>> steps,
                               const std::vector<term> &terms, std::vector<size_t> results)
    : axes(std::move(axes)), steps(std::move(steps)), results(std::move(results)) {
    const auto check = [](bool is_right) {
        if (!is_right)
            throw invalid_arguments("Kernel.sequence: the parts of an expression do not fit");
    };
    check(!this->axes.empty() && !this->results.empty() &&
          this->steps.size() >= this->results.size());
    for (const auto &of_array : this->steps) check(of_array.size() == this->axes.size());
    if (this->axes.size() == 1) {
        this->axes.insert(this->axes.begin(), 1);
        for (auto &of_array : this->steps) of_array.insert(of_array.begin(), 0);
    }
    n_inputs = this->steps.size() - this->results.size();
    std::vector<bool> is_steady;
    for (size_t i = 0; i < n_inputs; ++i) is_steady.push_back(row_step(i) == 0);
    for (const auto &[name, operands, number] : terms) {
        const bool is_constant = name == "number";
        const auto run = is_constant ? nullptr : host_rows::fast().term_of(name);
        check(is_constant || run);
        bool is_equal = true;
        for (const size_t value : operands) {
            check(is_constant || value < is_steady.size());
            is_equal = is_equal && (is_constant || is_steady[value]);
        }
        is_steady.push_back(is_equal);
        this->terms.push_back({run, operands, number, is_equal});
    }
    for (const size_t value : this->results) check(value < is_steady.size());
}

int64_t HostExpression::place(size_t array, const part &p) const {
    int64_t result = p.row * row_step(array) + p.column * column_step(array), n = p.matrix;
    for (size_t a = axes.size() - 2; a-- > 0; n /= axes[a]) result += n % axes[a] * steps[array][a];
    return result;
}

// Computes parts one after another.
class HostExpression::Evaluation {
  public:
    Evaluation(const HostExpression &e, float *const *arrays)
        : e(e), arrays(arrays), values(e.n_inputs + e.terms.size()) {
        memory = scratch(1, values.size() * most_at_once).data();
        for (size_t i = 0; i < e.terms.size(); ++i)
            if (!e.terms[i].run)
                values[e.n_inputs + i] =
                    std::fill_n(own(e.n_inputs + i), most_at_once, e.terms[i].number) -
                    most_at_once;
    }

    // Values that are equal in all rows are computed once, for the first of several parts.
    void compute(const part &p, bool is_first) {
        for (size_t i = 0; i < e.n_inputs; ++i)
            if (is_first || e.row_step(i)) values[i] = read(i, p);
        for (size_t i = 0; i < e.terms.size(); ++i) {
            const auto &[run, operands, number, is_steady] = e.terms[i];
            if (!run || (is_steady && !is_first)) continue;
            float *y = own(e.n_inputs + i);
            run(values[operands[0]], values[operands[1]], values[operands[2]], p.size(), y);
            values[e.n_inputs + i] = y;
        }
        for (size_t i = 0; i < e.results.size(); ++i)
            write(values[e.results[i]], e.n_inputs + i, p);
    }

  private:
    const HostExpression &e;
    float *const *arrays;
    float *memory;
    std::vector<const float *> values;

    float *own(size_t value) const { return memory + value * most_at_once; }
    bool is_dense(size_t array, const part &p) const {
        return e.column_step(array) == 1 && (p.n_rows == 1 || e.row_step(array) == p.n_columns);
    }

    const float *read(size_t array, const part &p) const {
        const float *x = arrays[array] + e.place(array, p);
        if (is_dense(array, p)) return x;
        const int64_t step = e.column_step(array);
        float *y = own(array);
        for (int64_t r = 0; r < p.n_rows; ++r, x += e.row_step(array), y += p.n_columns)
            if (step == 0)
                std::fill_n(y, p.n_columns, *x);
            else if (step == 1)
                copy_numbers(x, p.n_columns, y);
            else
                for (int64_t c = 0; c < p.n_columns; ++c) y[c] = x[c * step];
        return own(array);
    }

    void write(const float *x, size_t array, const part &p) const {
        const int64_t step = e.column_step(array);
        float *y = arrays[array] + e.place(array, p);
        if (is_dense(array, p)) {
            std::memmove(y, x, p.size() * sizeof *y);
            return;
        }
        for (int64_t r = 0; r < p.n_rows; ++r, y += e.row_step(array))
            for (int64_t c = 0; c < p.n_columns; ++c) y[c * step] = *x++;
    }
};

void HostExpression::run(void *const *addresses) const {
    const int64_t n_columns = std::min(columns(), most_at_once);
    const int64_t n_rows =
        n_columns < columns() ? 1 : std::max<int64_t>(1, most_at_once / n_columns);
    const int64_t by_column = (columns() + n_columns - 1) / n_columns;
    const int64_t by_row = (rows() + n_rows - 1) / n_rows;
    int64_t n_parts = by_column * by_row;
    for (size_t a = 0; a + 2 < axes.size(); ++a) n_parts *= axes[a];
    const int64_t n_terms = terms.size();
    in_parts(n_parts, work_of_term * n_terms * std::min(rows(), n_rows) * n_columns,
             [&](int64_t begin, int64_t end) {
                 Evaluation evaluation(*this, reinterpret_cast<float *const *>(addresses));
                 for (int64_t i = begin; i < end; ++i) {
                     const int64_t row = i % by_row * n_rows;
                     const int64_t column = i / by_row % by_column * n_columns;
                     evaluation.compute(
                         {i / by_row / by_column, row, std::min(n_rows, rows() - row), column,
                          std::min(n_columns, columns() - column)},
                         i == begin || row == 0);
                 }
             });
}

}  // namespace sycl_dnn
