// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "program/host_rows.hpp"
#include "program/host_work.hpp"

namespace sycl_dnn {

// Element-wise operations, gathers and reductions over arrays in any layout, a block of elements at
// a time: the values of all terms stay in the cache.
class HostExpression : public HostWork {
  public:
    // An array of elements of a type of host_rows.hpp, and its steps along the axes. Coordinates
    // are arrays without memory: their elements equal the steps to them.
    struct array {
        char type;
        std::vector<int64_t> steps;
        int position;  // among the addresses; -1 of coordinates
    };
    // A function by its name, and the values that it reads: inputs come first, then terms.
    // Constants have a number, coordinates and gathers an array, and the latter for each index the
    // size and the step of the axis that it is along.
    struct term {
        std::string name;
        char type;
        std::vector<size_t> operands;
        double number;
        int64_t integer;
        size_t array;
        std::vector<std::array<int64_t, 2>> reached;
    };
    // Sizes of axes and their kinds, kept (k) or reduced (r), outermost first. The arrays are
    // inputs, then others, then results, which are those values.
    struct parts {
        std::vector<int64_t> sizes;
        std::string kinds;
        std::vector<array> arrays;
        size_t n_inputs;
        std::vector<term> terms;
        std::vector<size_t> results;
    };

    explicit HostExpression(const parts &p);
    void run(void *const *addresses) const override;

  private:
    class Evaluation;
    static constexpr size_t none = -1;

    struct step {
        enum { constant, coordinate, gather, reduction, function } kind;
        term of;
        host_rows::term run;          // of float32 and truth values
        host_rows::typed_term typed;  // of others
        host_rows::reduction reduce;
    };
    // The axes of a block that a value lacks, since it is equal along them: bits.
    static constexpr int reduced = 1, columns = 2;
    // What is known of an input or a term.
    struct value {
        char type;
        int lacks;
        bool is_constant, is_result;
        bool is_steady;  // equal in all rows of an expression that reduces nothing
        // The memory of its elements with axes that it lacks, by what they lack then.
        std::array<size_t, 4> expanded{none, none, none, none};
    };

    void choose_axes(const parts &p);
    void append(const term &t);
    int lacks(const array &a) const;
    // What the operands of a term lack when it reads them.
    int lacks_when_read(const step &s, const value &v) const;
    void expand_when_read(value &v, int lacking);
    bool is_equal_along_rows(const array &a) const;
    size_t first_result() const { return arrays.size() - results.size(); }

    std::vector<array> arrays;
    std::vector<size_t> results;
    size_t n_inputs, n_slots;
    std::vector<value> values;
    std::vector<step> terms;

    std::vector<size_t> outer;  // axes along which blocks are apart
    std::vector<size_t> inner;  // axes of a block: rows, all reduced ones, columns
    std::vector<std::vector<int64_t>> inner_steps;  // of each array along these
    std::vector<int64_t> sizes;                     // of all axes
    size_t row_axis, column_axis;                   // of a block; else none
    int64_t n_reduced = 1, most_rows = 1, most_columns = 1;
};

}  // namespace sycl_dnn
