// SPDX-License-Identifier: Apache-2.0
#include "host_copy.hpp"

#include <cstring>
#include <type_traits>

#include "errors.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sycl_dnn {

namespace {

struct bfloat16 {
    uint16_t bits;
};
struct float16 {
    uint16_t bits;
};

uint32_t bits_of(float v) {
    uint32_t u;
    std::memcpy(&u, &v, sizeof u);
    return u;
}

void convert(bfloat16 from, bfloat16 &to) { to = from; }
void convert(float16 from, float16 &to) { to = from; }

void convert(bfloat16 from, float &to) {
    const uint32_t u = uint32_t(from.bits) << 16;
    std::memcpy(&to, &u, sizeof to);
}

// To nearest even; NaN is the quiet one.
void convert(float from, bfloat16 &to) {
    const uint32_t u = bits_of(from);
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    to.bits = is_nan ? 0x7fc0 : uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

template <class From, class To>
void copy_row(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step) {
    const auto *p = static_cast<const From *>(src);
    auto *q = static_cast<To *>(dst);
    if (src_step == 1 && dst_step == 1) {
        if constexpr (std::is_same_v<From, To>) {
            std::memcpy(q, p, n * sizeof *q);
        } else {
            for (int64_t i = 0; i < n; ++i) convert(p[i], q[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; ++i) convert(p[i * src_step], q[i * dst_step]);
}

#if defined(__x86_64__)
#define WITH_F16C __attribute__((target("avx,f16c")))

WITH_F16C void widen_row(const void *src, void *dst, int64_t n, int64_t src_step,
                         int64_t dst_step) {
    const auto *p = static_cast<const uint16_t *>(src);
    auto *q = static_cast<float *>(dst);
    int64_t i = 0;
    if (src_step == 1 && dst_step == 1)
        for (; i + 8 <= n; i += 8) {
            const __m128i given = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + i));
            _mm256_storeu_ps(q + i, _mm256_cvtph_ps(given));
        }
    for (; i < n; ++i) q[i * dst_step] = _cvtsh_ss(p[i * src_step]);
}

WITH_F16C void narrow_row(const void *src, void *dst, int64_t n, int64_t src_step,
                          int64_t dst_step) {
    const auto *p = static_cast<const float *>(src);
    auto *q = static_cast<uint16_t *>(dst);
    int64_t i = 0;
    if (src_step == 1 && dst_step == 1)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128(reinterpret_cast<__m128i *>(q + i),
                             _mm256_cvtps_ph(_mm256_loadu_ps(p + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; ++i) q[i * dst_step] = _cvtss_sh(p[i * src_step], _MM_FROUND_TO_NEAREST_INT);
}

bool has_f16c() { return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c"); }
#else
constexpr HostCopy::row widen_row = nullptr, narrow_row = nullptr;
bool has_f16c() { return false; }
#endif

struct way {
    const char *from, *to;
    HostCopy::row copy;
    int64_t src_size, dst_size;
    bool needs_f16c;
};

const way ways[] = {
    {"float32", "bfloat16", copy_row<float, bfloat16>, 4, 2, false},
    {"bfloat16", "float32", copy_row<bfloat16, float>, 2, 4, false},
    {"bfloat16", "bfloat16", copy_row<bfloat16, bfloat16>, 2, 2, false},
    {"float16", "float16", copy_row<float16, float16>, 2, 2, false},
    {"float16", "float32", widen_row, 2, 4, true},
    {"float32", "float16", narrow_row, 4, 2, true},
};

const way *way_of(const std::string &from, const std::string &to) {
    for (const way &w : ways)
        if (from == w.from && to == w.to) return !w.needs_f16c || has_f16c() ? &w : nullptr;
    return nullptr;
}

}  // namespace

bool HostCopy::has(const std::string &from, const std::string &to) { return way_of(from, to); }

HostCopy::HostCopy(const std::string &from, const std::string &to, std::vector<axis> a)
    : axes(std::move(a)) {
    const way *found = way_of(from, to);
    if (!found)
        throw invalid_arguments("HostCopy: this processor does not convert " + from + " to " + to);
    if (axes.empty()) axes.push_back({1, 1, 1});
    copy_row = found->copy;
    src_size = found->src_size;
    dst_size = found->dst_size;
}

void HostCopy::run(const void *src, void *dst) const {
    const auto *from = static_cast<const char *>(src);
    auto *to = static_cast<char *>(dst);
    const auto [inner, src_step, dst_step] = axes.back();
    std::vector<int64_t> at(axes.size() - 1, 0);
    for (;;) {
        copy_row(from, to, inner, src_step, dst_step);
        size_t i = at.size();
        for (; i > 0; --i) {
            const auto &[n, src_stride, dst_stride] = axes[i - 1];
            const bool wraps = ++at[i - 1] == n;
            const int64_t steps = wraps ? 1 - n : 1;
            from += steps * src_stride * src_size;
            to += steps * dst_stride * dst_size;
            if (!wraps) break;
            at[i - 1] = 0;
        }
        if (i == 0) return;
    }
}

}  // namespace sycl_dnn
