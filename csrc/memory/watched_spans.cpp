// SPDX-License-Identifier: Apache-2.0
#include "memory/watched_spans.hpp"

#include <algorithm>

namespace sycl_dnn {

// Never destroyed: Python objects may outlive static ones.
WatchedSpans::spans &WatchedSpans::all() {
    static auto *all = new spans;
    return *all;
}

WatchedSpans::~WatchedSpans() {
    for (const auto &span : own) all().erase(span);
}

void WatchedSpans::add(uintptr_t begin, uintptr_t end) {
    own.push_back(all().emplace(begin, watched{end, this}));
    longest = std::max(longest, end - begin);
}

void WatchedSpans::note_write(uintptr_t begin, uintptr_t end) {
    const uintptr_t first = begin > longest ? begin - longest : 0;
    for (auto span = all().lower_bound(first); span != all().end() && span->first < end; ++span)
        if (span->second.end > begin) span->second.by->is_written = true;
}

}  // namespace sycl_dnn
