// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "program/host_rows.hpp"
#include "program/host_work.hpp"

namespace sycl_dnn {

// Element-wise operations on float32 arrays in any layout, a few rows at a time.
class HostExpression : public HostWork {
  public:
    // A function by its name, and the values that it reads: inputs come first, then terms. A
    // constant has a number instead.
    struct term {
        std::string name;
        std::array<size_t, 3> operands;
        float number;
    };

    // Sizes of axes, outermost first; the steps of each array along them, inputs first; terms; the
    // values that are results.
    HostExpression(std::vector<int64_t> axes, std::vector<std::vector<int64_t>> steps,
                   const std::vector<term> &terms, std::vector<size_t> results);

    void run(void *const *addresses) const override;

  private:
    class Evaluation;
    // The elements that are computed at a time, all in one row unless they have all columns.
    struct part {
        int64_t matrix, row, n_rows, column, n_columns;
        int64_t size() const { return n_rows * n_columns; }
    };
    struct step {
        host_rows::term run;  // null for a constant
        std::array<size_t, 3> operands;
        float number;
        bool is_steady;  // equal in all rows
    };

    int64_t rows() const { return axes[axes.size() - 2]; }
    int64_t columns() const { return axes.back(); }
    int64_t row_step(size_t array) const { return steps[array][axes.size() - 2]; }
    int64_t column_step(size_t array) const { return steps[array].back(); }
    // The elements of an array before a part.
    int64_t place(size_t array, const part &p) const;

    std::vector<int64_t> axes;  // two at least
    std::vector<std::vector<int64_t>> steps;
    size_t n_inputs;
    std::vector<step> terms;
    std::vector<size_t> results;
};

}  // namespace sycl_dnn
