// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sycl_dnn {

// A copy among float32, bfloat16 and float16 between two plain layouts, as a task of the host.
//
// On CPUs without instructions for 16-bit floats, oneDNN's reorder takes 50 ns an element. Kernels
// of OpenCL are no way out: its CPU runtime does not support threads that launch and wait at once.
class HostCopy {
  public:
    // Number and strides in elements, of the source and the destination.
    using axis = std::array<int64_t, 3>;

    // `axes` lead from the outermost one to the innermost one of the destination.
    HostCopy(const std::string &from, const std::string &to, std::vector<axis> axes);
    void run(const void *src, void *dst) const;
    // Whether this processor converts between the two types.
    static bool has(const std::string &from, const std::string &to);

    using row = void (*)(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step);

  private:
    row copy_row;
    int64_t src_size, dst_size;  // bytes of an element
    std::vector<axis> axes;
};

}  // namespace sycl_dnn
