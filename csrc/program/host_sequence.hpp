// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/host_work.hpp"

namespace sycl_dnn {

// Small operations on float32 that one host task performs in order.
//
// oneDNN submits a host task for each primitive and divides it among threads. Both take longer than
// a product of a few thousand elements.
class HostSequence : public HostWork {
  public:
    // An element-wise algorithm of oneDNN, with its parameters.
    struct function {
        int algorithm;
        float alpha, beta;
    };
    // `arrays` are positions among the step's values, -1 where there is none; host_sequence.cpp
    // says what each kind reads from `sizes`.
    struct operation {
        std::string kind;
        std::vector<int> arrays;
        std::vector<int64_t> sizes;
        std::vector<function> functions;
    };

    explicit HostSequence(const std::vector<operation> &operations);
    void run(void *const *addresses) const override;
    // Whether an element-wise algorithm is one that operations can apply.
    static bool has(int algorithm);

    using runner = void (*)(const operation &, float *const *arrays);

  private:
    struct prepared {
        operation what;
        runner run;
    };
    std::vector<prepared> operations;
};

}  // namespace sycl_dnn
