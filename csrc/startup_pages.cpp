// SPDX-License-Identifier: Apache-2.0
// Loading oneDNN's library reads its relocations and runs initialisers all over its 79 MB of code.
// Linux 6.18 maps a whole block of the page cache at each touch, up to 2 MB. So 6 to 23 MB are
// mapped of which making an engine needs 0.4 to 4.4.
#include "startup_pages.hpp"

#include <fcntl.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sycl_dnn {

namespace {

using program_header = ElfW(Phdr);

struct range {
    std::uintptr_t begin, end;
};

range segment(const dl_phdr_info &library, const program_header &header) {
    const std::uintptr_t page = sysconf(_SC_PAGESIZE);
    const std::uintptr_t begin = library.dlpi_addr + header.p_vaddr;
    return {begin & ~(page - 1), (begin + header.p_memsz + page - 1) & ~(page - 1)};
}

// The segments that nobody writes to, if `library` is oneDNN's. Called for each loaded library.
int collect(dl_phdr_info *library, std::size_t, void *found) {
    const auto inside = reinterpret_cast<std::uintptr_t>(&dnnl_version);
    bool is_dnnl = false;
    std::vector<range> constant;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const program_header &header = library->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        const range r = segment(*library, header);
        is_dnnl |= r.begin <= inside && inside < r.end;
        if (!(header.p_flags & PF_W)) constant.push_back(r);
    }
    if (is_dnnl) *static_cast<std::vector<range> *>(found) = constant;
    return is_dnnl;
}

// A page that a debugger or a probe has written to is a copy, and would lose what was written.
bool all_from_file(int pagemap, const range &r) {
    constexpr std::uint64_t present = 1ull << 63, swapped = 1ull << 62, file = 1ull << 61;
    const std::uintptr_t page = sysconf(_SC_PAGESIZE);
    std::vector<std::uint64_t> entries((r.end - r.begin) / page);
    const auto bytes = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
    const auto offset = static_cast<off_t>(r.begin / page * sizeof entries[0]);
    if (pread(pagemap, entries.data(), bytes, offset) != bytes) return false;
    return std::none_of(entries.begin(), entries.end(), [](std::uint64_t e) {
        return (e & swapped) || ((e & present) && !(e & file));
    });
}

}  // namespace

void release_startup_pages() {
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap < 0) return;
    std::vector<range> constant;
    dl_iterate_phdr(&collect, &constant);
    for (const range &r : constant)
        if (all_from_file(pagemap, r))
            madvise(reinterpret_cast<void *>(r.begin), r.end - r.begin, MADV_DONTNEED);
    close(pagemap);
}

}  // namespace sycl_dnn
