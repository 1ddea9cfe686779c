// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
    // An element-wise algorithm of oneDNN, with its parameters.
    struct function {
        int algorithm;
        float alpha, beta;
        float (*apply)(float x, float alpha, float beta) = nullptr;  // set by `append`
    };
    // An array: its position among the step's values, -1 if there is none, and the bytes before it.
    using place = std::pair<int, int64_t>;
    // host_sequence.cpp says what each kind reads from `sizes`.
    struct operation {
        std::string kind;
        std::vector<place> arrays;
        std::vector<int64_t> sizes;
        std::vector<function> functions;
    };

    void run(void *const *addresses) const override;
    bool is_brief() const override { return true; }
    // Whether an element-wise algorithm is one that operations can apply.
    static bool has(int algorithm);

    // Appends an operation, or a kernel over these arrays with its numbers.
    void append(operation what);
    void append(std::shared_ptr<const SpirvInterpreter> kernel, std::vector<place> arrays,
                std::vector<uint64_t> numbers, size_t n_groups);

  private:
    struct step {
        std::vector<place> arrays;
        std::function<void(void *const *arrays)> run;
    };
    std::vector<step> steps;
};

}  // namespace sycl_dnn
