// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sycl {
inline namespace _V1 {
class device;
}  // namespace _V1
}  // namespace sycl

namespace sycl_dnn {

// Requests huge pages for new memory of a CPU device, as NumPy does for its arrays: memory-bound
// kernels gain up to a third. Does nothing on a GPU or below 4 MiB.
void request_huge_pages(const sycl::device &device, void *begin, size_t nbytes);
// The same for memory in use: the system copies it to huge pages if possible.
void move_to_huge_pages(const sycl::device &device, void *begin, size_t nbytes);

}  // namespace sycl_dnn
