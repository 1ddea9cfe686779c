// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "program/host_rows.hpp"
#include "program/host_work.hpp"
#include "program/spirv_interpreter.hpp"

namespace sycl_dnn {

// Small operations on float32, and generated kernels of few elements, that one host task performs
// in order.
//
// oneDNN submits a host task for each primitive and divides it among threads. Both take longer than
// a product of a few thousand elements.
class HostSequence : public HostWork {
  public:
    // An element-wise algorithm of oneDNN, with its parameters; or with another array, whose
    // elements are those of the result if alpha is 1, or one row for all rows if it is 0.
    struct function {
        int algorithm;
        float alpha, beta;
        int operand = -1;                     // position among the arrays of the operation
        host_rows::function apply = nullptr;  // set by `append`, as the next
        host_rows::combination combine = nullptr;
    };
    // An array: its position among the step's values, -1 if there is none, and the bytes before it.
    using place = std::pair<int, int64_t>;
    // host_sequence.cpp says what each kind reads from `sizes`.
    struct operation {
        std::string kind;
        std::vector<place> arrays;
        std::vector<int64_t> sizes;
        std::vector<function> functions;
        std::vector<float> numbers;
    };

    // `named` says what profiles call the operations.
    explicit HostSequence(std::vector<part> named) : named(std::move(named)) {}

    void run(void *const *addresses) const override;
    void run_part(size_t i, void *const *addresses) const override;
    const std::vector<part> &parts() const override { return named; }
    std::vector<int> values_of_part(size_t i) const override;
    bool is_brief() const override { return true; }
    // Whether an element-wise algorithm is one that operations can apply.
    static bool has(int algorithm);

    // Appends an operation, other work, or a kernel over these arrays with its numbers, or with
    // facts: it reads the addresses from an array then, as joined kernels do.
    void append(operation what);
    void append(std::shared_ptr<const HostWork> work, std::vector<place> arrays);
    void append(std::shared_ptr<const SpirvInterpreter> kernel, std::vector<place> arrays,
                std::vector<uint64_t> numbers, size_t n_groups, std::vector<int32_t> facts);

  private:
    struct step {
        std::vector<place> arrays;
        std::function<void(void *const *arrays)> run;
    };
    static void run_step(const step &s, void *const *addresses);

    const std::vector<part> named;
    std::vector<step> steps;
    int64_t work = 0;  // multiplications
};

}  // namespace sycl_dnn
