// SPDX-License-Identifier: Apache-2.0
#include "program/host_order.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "program/host_rows.hpp"
#include "program/host_tile.hpp"

namespace sycl_dnn {

namespace {

// Elements of a row that are ordered by comparing each with all.
constexpr int64_t most_ranked = 128;

// An integer in the order of numbers; NaN is the greatest, and -0 equals 0.
int32_t key_of(float x) {
    if (x != x) return std::numeric_limits<int32_t>::max();
    int32_t bits;
    x += 0.0f;
    std::memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 31 & std::numeric_limits<int32_t>::max());
}
int32_t key_of(int32_t x) { return x; }

// The indices of the first elements of each row in order; equal ones keep theirs.
template <class T>
void order_rows_of(const HostSequence::operation &o, float *const *arrays) {
    const int64_t n = o.sizes[1], count = o.sizes[2];
    in_parts(o.sizes[0], 64 * n, [&](int64_t begin, int64_t end) {
        std::vector<int32_t> keys(n + host_rows::least_columns), ranks(keys.size());
        std::vector<int64_t> pairs;
        for (int64_t r = begin; r < end; ++r) {
            const T *x = reinterpret_cast<const T *>(arrays[0]) + r * o.sizes[3];
            auto *y = reinterpret_cast<int64_t *>(arrays[1]) + r * count;
            for (int64_t i = 0; i < n; ++i)
                keys[i] = key_of(x[i * o.sizes[4]]) ^ (o.sizes[6] ? -1 : 0);
            if (n <= most_ranked) {
                host_rows::fast().rank(keys.data(), n, ranks.data());
                for (int64_t i = 0; i < n; ++i)
                    if (ranks[i] < count) y[ranks[i]] = i;
                continue;
            }
            // What follows the first ones so far is left out.
            int64_t last = std::numeric_limits<int64_t>::max();
            pairs.clear();
            for (int64_t i = 0; i < n; ++i) {
                const int64_t pair = keys[i] * (int64_t(1) << 32) + i;
                if (pair > last) continue;
                pairs.push_back(pair);
                if (static_cast<int64_t>(pairs.size()) < 2 * count + most_ranked) continue;
                std::nth_element(pairs.begin(), pairs.begin() + count - 1, pairs.end());
                pairs.resize(count);
                last = pairs.back();
            }
            std::sort(pairs.begin(), pairs.end());
            for (int64_t i = 0; i < count; ++i) y[i] = pairs[i] & 0xffffffff;
        }
    });
}

}  // namespace

void order_rows(const HostSequence::operation &o, float *const *arrays) {
    o.sizes[5] ? order_rows_of<float>(o, arrays) : order_rows_of<int32_t>(o, arrays);
}

}  // namespace sycl_dnn
