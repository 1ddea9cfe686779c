// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace sycl_dnn {

// Spans of memory from whose contents a program's constants were computed. All functions need the
// GIL.
class WatchedSpans {
  public:
    WatchedSpans() = default;
    WatchedSpans(const WatchedSpans &) = delete;
    WatchedSpans &operator=(const WatchedSpans &) = delete;
    ~WatchedSpans();

    void add(uintptr_t begin, uintptr_t end);
    // Whether the package has written to none of them since they were added.
    bool are_unwritten() const { return !is_written; }

    static bool exist() { return !all().empty(); }
    // Tells those who watch a part of a span that it is written.
    static void note_write(uintptr_t begin, uintptr_t end);

  private:
    struct watched {
        uintptr_t end;
        WatchedSpans *by;
    };
    using spans = std::multimap<uintptr_t, watched>;  // by their beginning
    static spans &all();
    static inline uintptr_t longest = 0;

    std::vector<spans::iterator> own;
    bool is_written = false;
};

}  // namespace sycl_dnn
