// SPDX-License-Identifier: Apache-2.0
#include "engine/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <sycl/sycl.hpp>

namespace sycl_dnn {

static constexpr uintptr_t huge_page = uintptr_t{2} << 20;
static constexpr size_t smallest = size_t{4} << 20;

static void advise(const sycl::device &device, void *begin, size_t nbytes, int advice) {
    if (nbytes < smallest || !device.is_cpu()) return;
    // Only whole pages: the rest may belong to other allocations.
    const auto address = reinterpret_cast<uintptr_t>(begin);
    const uintptr_t first = (address + huge_page - 1) & ~(huge_page - 1);
    const uintptr_t end = (address + nbytes) & ~(huge_page - 1);
    if (first < end) madvise(reinterpret_cast<void *>(first), end - first, advice);
}

void request_huge_pages(const sycl::device &device, void *begin, size_t nbytes) {
    advise(device, begin, nbytes, MADV_HUGEPAGE);
}

void move_to_huge_pages(const sycl::device &device, void *begin, size_t nbytes) {
    static constexpr int collapse = 25;  // MADV_COLLAPSE, Linux 6.1; older ones refuse it
    advise(device, begin, nbytes, collapse);
}

}  // namespace sycl_dnn
