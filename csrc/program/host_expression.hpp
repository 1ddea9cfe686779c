// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sycl_dnn {

// The element-wise expression of a generated kernel, interpreted by one thread block by block, for
// arrays of so few elements that launching the kernel takes longer.
class HostExpression {
  public:
    union value {
        float real;
        int64_t whole;  // of integers, and of bool as 0 or 1
    };
    // One operation: operands are numbers of inputs, then of terms. `number` is that of a constant,
    // and which source a gather reads or which coordinate an iota has.
    struct term {
        std::string name, dtype;
        std::vector<int> operands;
        value number;
    };
    struct form {
        std::vector<std::string> dtypes;  // of the inputs and of the sources
        int n_inputs;
        std::vector<int> results;  // numbers of values
        std::vector<int64_t> sizes;
        // Along each axis, of the inputs, sources, results and coordinates.
        std::vector<std::vector<int64_t>> strides;
        // Of each source: size and stride of the axes that its indices name.
        std::vector<std::vector<std::pair<int64_t, int64_t>>> indexed;
        std::vector<term> terms;
    };

    explicit HostExpression(form what);
    // `arrays` are the inputs, the sources, the results.
    void run(void *const *arrays) const;
    // Whether there is an operation for operands and a result of these dtypes.
    static bool has(const std::string &name, const std::vector<std::string> &operands,
                    const std::string &result);

    using compute = void (*)(value *result, const value *const *operands, int n);

  private:
    // Offsets of the arrays and coordinates where a row begins.
    using offsets = std::vector<int64_t>;
    void run_row(void *const *arrays, const offsets &starts, value *values) const;
    void compute_term(size_t index, void *const *arrays, const offsets &starts, int64_t first,
                      int n, value *values) const;

    form what;
    std::vector<char> kinds;  // of the values
    std::vector<compute> functions;
};

}  // namespace sycl_dnn
