// SPDX-License-Identifier: Apache-2.0
#include "program/host_copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/errors.hpp"
#include "program/second_thread.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace sycl_dnn {

namespace {

struct bfloat16 {
    uint16_t bits;
};

uint32_t bits_of(float v) {
    uint32_t u;
    std::memcpy(&u, &v, sizeof u);
    return u;
}

void convert(uint16_t from, uint16_t &to) { to = from; }
void convert(float from, float &to) { to = from; }

void convert(bfloat16 from, float &to) {
    const uint32_t u = uint32_t(from.bits) << 16;
    std::memcpy(&to, &u, sizeof to);
}

// Rounds to nearest even; NaN becomes quiet.
void convert(float from, bfloat16 &to) {
    const uint32_t u = bits_of(from);
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    to.bits = is_nan ? 0x7fc0 : uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

template <class From, class To>
void copy_row(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step) {
    const auto *p = static_cast<const From *>(src);
    auto *q = static_cast<To *>(dst);
    if (src_step == 1 && dst_step == 1) {  // a separate loop, so that it is vectorized
        for (int64_t i = 0; i < n; ++i) convert(p[i], q[i]);
        return;
    }
    for (int64_t i = 0; i < n; ++i) convert(p[i * src_step], q[i * dst_step]);
}

#if defined(__x86_64__)
#define WITH_F16C __attribute__((target("avx,f16c")))

WITH_F16C void convert_half(uint16_t from, float &to) { to = _cvtsh_ss(from); }
WITH_F16C void convert_half(float from, uint16_t &to) {
    to = _cvtss_sh(from, _MM_FROUND_TO_NEAREST_INT);
}
WITH_F16C void convert_eight(const uint16_t *from, float *to) {
    const auto halves = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
    _mm256_storeu_ps(to, _mm256_cvtph_ps(halves));
}
WITH_F16C void convert_eight(const float *from, uint16_t *to) {
    const auto halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), halves);
}

template <class From, class To>
WITH_F16C void half_row(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step) {
    const auto *p = static_cast<const From *>(src);
    auto *q = static_cast<To *>(dst);
    int64_t i = 0;
    if (src_step == 1 && dst_step == 1)
        for (; i + 8 <= n; i += 8) convert_eight(p + i, q + i);
    for (; i < n; ++i) convert_half(p[i * src_step], q[i * dst_step]);
}

constexpr HostCopy::row widen_row = half_row<uint16_t, float>;
constexpr HostCopy::row narrow_row = half_row<float, uint16_t>;
// Clang 14 does not know this feature by name.
bool has_f16c() {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && __builtin_cpu_supports("avx");
}
#else
constexpr HostCopy::row widen_row = nullptr, narrow_row = nullptr;
bool has_f16c() { return false; }
#endif

struct conversion {
    const char *from, *to;
    HostCopy::row copy;
    int64_t src_size, dst_size;
    bool needs_f16c;
};

const conversion conversions[] = {
    {"float32", "float32", copy_row<float, float>, 4, 4, false},
    {"float32", "bfloat16", copy_row<float, bfloat16>, 4, 2, false},
    {"bfloat16", "float32", copy_row<bfloat16, float>, 2, 4, false},
    {"bfloat16", "bfloat16", copy_row<uint16_t, uint16_t>, 2, 2, false},
    {"float16", "float16", copy_row<uint16_t, uint16_t>, 2, 2, false},
    {"float16", "float32", widen_row, 2, 4, true},
    {"float32", "float16", narrow_row, 4, 2, true},
};

const conversion *conversion_of(const std::string &from, const std::string &to) {
    for (const conversion &w : conversions)
        if (from == w.from && to == w.to) return !w.needs_f16c || has_f16c() ? &w : nullptr;
    return nullptr;
}

}  // namespace

bool HostCopy::has(const std::string &from, const std::string &to) {
    return conversion_of(from, to);
}

HostCopy::HostCopy(const std::string &from, const std::string &to, std::vector<axis> a)
    : axes(std::move(a)) {
    const conversion *match = conversion_of(from, to);
    if (!match)
        throw invalid_arguments(
            "Kernel.copy: from_type and to_type must be types that this processor converts, got " +
            from + " and " + to);
    if (axes.empty()) axes.push_back({1, 1, 1});
    copy_row = match->copy;
    src_size = match->src_size;
    dst_size = match->dst_size;
}

void HostCopy::run(void *const *addresses) const {
    const auto *from = static_cast<const char *>(addresses[0]);
    auto *to = static_cast<char *>(addresses[1]);
    int64_t n_elements = 1;
    for (const axis &a : axes) n_elements *= a[0];
    const auto [n, src_step, dst_step] = axes.front();
    const int64_t n_parts = std::clamp<int64_t>(n_elements / elements_of_part, 1, n);
    SecondThread::each(n_parts, [&](int64_t i) {
        const int64_t begin = i * n / n_parts;
        std::vector<axis> part = axes;
        part[0][0] = (i + 1) * n / n_parts - begin;
        copy(part, from + begin * src_step * src_size, to + begin * dst_step * dst_size);
    });
}

// Rows of the source are adjacent, not those of the destination: a few elements of each at a time,
// since whole columns would not stay in the cache.
void HostCopy::transpose(const axis &outer, const axis &inner, const char *from, char *to) const {
    for (int64_t first = 0; first < outer[0]; first += elements_of_row) {
        const int64_t n = std::min(elements_of_row, outer[0] - first);
        const char *x = from + first * src_size;
        char *y = to + first * outer[2] * dst_size;
        for (int64_t i = 0; i < inner[0]; ++i)
            copy_row(x + i * inner[1] * src_size, y + i * inner[2] * dst_size, n, 1, outer[2]);
    }
}

void HostCopy::copy(const std::vector<axis> &axes, const char *from, char *to) const {
    const axis &inner = axes.back();
    const size_t n_axes = axes.size();
    const bool is_turned = n_axes > 1 && inner[1] != 1 && axes[n_axes - 2][1] == 1;
    std::vector<int64_t> position(n_axes - (is_turned ? 2 : 1), 0);
    for (;;) {
        if (is_turned)
            transpose(axes[n_axes - 2], inner, from, to);
        else
            copy_row(from, to, inner[0], inner[1], inner[2]);
        size_t i = position.size();
        for (; i > 0; --i) {
            const auto &[n, src_stride, dst_stride] = axes[i - 1];
            const bool wraps = ++position[i - 1] == n;
            const int64_t steps = wraps ? 1 - n : 1;
            from += steps * src_stride * src_size;
            to += steps * dst_stride * dst_size;
            if (!wraps) break;
            position[i - 1] = 0;
        }
        if (i == 0) return;
    }
}

}  // namespace sycl_dnn
