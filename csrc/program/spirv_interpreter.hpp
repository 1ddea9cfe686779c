// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sycl_dnn {

// Executes a SPIR-V module of one kernel, as kernels/spirv.py writes them, in the calling thread.
// Results of a module that `is_exact` have the bits that the CPU driver's code computes.
class SpirvInterpreter {
  public:
    struct instruction {
        // Returns the next instruction; null at the end and at barriers.
        const instruction *(*run)(const instruction *self, char *frame);
        int32_t result, a, b, c;  // positions in the frame
        int32_t n;                // lanes
        int32_t size;             // bytes that are moved
        int32_t step;             // bytes between elements in memory
        const int32_t *lanes;     // positions by lane of the result
    };

    // Null for modules with instructions that it lacks, and on processors without AVX2.
    static std::shared_ptr<const SpirvInterpreter> of(const std::string &module);

    // `words` are the parameters in order: addresses, and numbers of four bytes.
    void run(const std::vector<uint64_t> &words, size_t n_groups) const;

    bool is_exact() const { return exact; }
    // Instructions times elements.
    size_t cost(size_t n_visited) const { return code.size() * n_visited; }
    // Whether a kernel that visits so many elements takes no longer than its launch; no more than a
    // guess from the size of the module, which counts loops once.
    bool is_brief(size_t n_visited) const;
    static bool may_be_brief(const std::string &module, size_t n_visited);
    size_t n_parameters() const { return parameters.size(); }

  private:
    class Decoder;
    SpirvInterpreter() = default;
    void run(const std::vector<uint64_t> &words, uint64_t begin, uint64_t end) const;

    std::vector<instruction> code;
    std::vector<std::vector<int32_t>> lanes;  // owns what instructions refer to
    std::vector<char> frame;                  // initial: constants
    std::vector<int32_t> parameters;          // positions
    int32_t group = -1, item = -1;            // positions of their indices, three uint64_t
    struct shared_array {
        int32_t position;
        size_t bytes;
    };
    std::vector<shared_array> shared;
    size_t n_items = 1;
    bool exact = true;
};

}  // namespace sycl_dnn
