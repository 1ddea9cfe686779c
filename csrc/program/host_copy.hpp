// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "program/host_work.hpp"

namespace sycl_dnn {

// A copy among float32, bfloat16 and float16 between two plain layouts, as a host task.
//
// On CPUs without native 16-bit floats, oneDNN's reorder takes 50 ns per element. OpenCL kernels
// are no alternative: the CPU runtime does not support threads that launch and wait concurrently.
class HostCopy : public HostWork {
  public:
    // Size, and strides of source and destination in elements.
    using axis = std::array<int64_t, 3>;

    // `axes` are ordered from the destination's outermost axis to its innermost.
    HostCopy(const std::string &from, const std::string &to, std::vector<axis> axes);
    // Of the first array to the second.
    void run(void *const *addresses) const override;
    // Whether this processor can convert between the two types.
    static bool has(const std::string &from, const std::string &to);

    using row = void (*)(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step);

  private:
    // From which a second thread pays, and from which it is worth waking it alone.
    static constexpr int64_t least_for_second = 1 << 18, least_of_long = 1 << 19;
    // Of the parts that threads take; of a tile and of a row that are not split.
    static constexpr int64_t elements_of_part = 8192, elements_of_tile = 32, elements_of_run = 256;

    // Whether columns of the source become rows.
    bool is_turned() const;
    void copy(const std::vector<axis> &axes, const char *from, char *to) const;
    void copy_rows(const axis &outer, const axis &inner, const char *from, char *to) const;
    void transpose(const axis &outer, const axis &inner, const char *from, char *to) const;

    row copy_row;
    int64_t src_size, dst_size;  // bytes of an element
    std::vector<axis> axes;
};

}  // namespace sycl_dnn
