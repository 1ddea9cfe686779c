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

inline void convert(uint16_t from, uint16_t &to) { to = from; }
inline void convert(float from, float &to) { to = from; }

inline void convert(bfloat16 from, float &to) {
    const uint32_t u = uint32_t(from.bits) << 16;
    std::memcpy(&to, &u, sizeof to);
}

// Rounds to nearest even; NaN becomes quiet.
inline void convert(float from, bfloat16 &to) {
    const uint32_t u = bits_of(from);
    const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
    to.bits = is_nan ? 0x7fc0 : uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

template <class From, class To>
__attribute__((always_inline)) inline void copy_any_row(const void *src, void *dst, int64_t n,
                                                        int64_t src_step, int64_t dst_step) {
    const auto *p = static_cast<const From *>(src);
    auto *q = static_cast<To *>(dst);
    if (src_step == 1 && dst_step == 1) {  // a separate loop, so that it is vectorized
        for (int64_t i = 0; i < n; ++i) convert(p[i], q[i]);
        return;
    }
    for (int64_t i = 0; i < n; ++i) convert(p[i * src_step], q[i * dst_step]);
}

template <class From, class To>
void copy_row(const void *src, void *dst, int64_t n, int64_t src_step, int64_t dst_step) {
    copy_any_row<From, To>(src, dst, n, src_step, dst_step);
}

#if defined(__x86_64__)
template <class From, class To>
__attribute__((target("avx2"))) void copy_row_avx2(const void *src, void *dst, int64_t n,
                                                   int64_t src_step, int64_t dst_step) {
    copy_any_row<From, To>(src, dst, n, src_step, dst_step);
}

template <class From, class To>
HostCopy::row fastest_row() {
    return __builtin_cpu_supports("avx2") ? copy_row_avx2<From, To> : copy_row<From, To>;
}
#else
template <class From, class To>
HostCopy::row fastest_row() {
    return copy_row<From, To>;
}
#endif

// Rows of one to two chunks, which overlap.
template <class Chunk>
void move_short_rows(const char *p, char *q, int64_t n_rows, int64_t n, int64_t src_step,
                     int64_t dst_step) {
    const int64_t last = n - int64_t(sizeof(Chunk));
    for (int64_t i = 0; i < n_rows; ++i, p += src_step, q += dst_step) {
        Chunk low, high;
        std::memcpy(&low, p, sizeof low);
        std::memcpy(&high, p + last, sizeof high);
        std::memcpy(q, &low, sizeof low);
        std::memcpy(q + last, &high, sizeof high);
    }
}

// Moved in registers.
typedef uint64_t sixteen __attribute__((vector_size(16)));
typedef uint64_t thirty_two __attribute__((vector_size(32)));

// Rows of n bytes, an even number; steps are in bytes.
void move_rows(const char *p, char *q, int64_t n_rows, int64_t n, int64_t src_step,
               int64_t dst_step) {
    if (n > 64)
        for (int64_t i = 0; i < n_rows; ++i) std::memcpy(q + i * dst_step, p + i * src_step, n);
    else if (n >= 32)
        move_short_rows<thirty_two>(p, q, n_rows, n, src_step, dst_step);
    else if (n >= 16)
        move_short_rows<sixteen>(p, q, n_rows, n, src_step, dst_step);
    else if (n >= 8)
        move_short_rows<uint64_t>(p, q, n_rows, n, src_step, dst_step);
    else if (n >= 4)
        move_short_rows<uint32_t>(p, q, n_rows, n, src_step, dst_step);
    else
        move_short_rows<uint16_t>(p, q, n_rows, n, src_step, dst_step);
}

// Writes the columns of n_rows times n elements as rows; steps are in bytes. Source rows have whole
// blocks, also where fewer elements count. Blocks are interleaved in registers: row k with row k +
// half, once for each halving.
template <class T>
void write_columns(const char *src, char *dst, int64_t n_rows, int64_t n, int64_t src_step,
                   int64_t dst_step) {
    constexpr int64_t lanes = 16 / sizeof(T);
    typedef T vector __attribute__((vector_size(16)));
    vector rows[lanes], mixed[lanes];
    for (int64_t column = 0; column < n; column += lanes)
        for (int64_t row = 0; row < n_rows; row += lanes) {
            for (int64_t k = 0; k < lanes; ++k)
                std::memcpy(&rows[k], src + (row + k) * src_step + column * sizeof(T),
                            sizeof(vector));
            for (int stage = 1; stage < lanes; stage *= 2) {
                for (int64_t k = 0; k < lanes / 2; ++k) {
                    const vector a = rows[k], b = rows[k + lanes / 2];
                    if constexpr (lanes == 8) {
                        mixed[2 * k] = __builtin_shuffle(a, b, vector{0, 8, 1, 9, 2, 10, 3, 11});
                        mixed[2 * k + 1] =
                            __builtin_shuffle(a, b, vector{4, 12, 5, 13, 6, 14, 7, 15});
                    } else {
                        mixed[2 * k] = __builtin_shuffle(a, b, vector{0, 4, 1, 5});
                        mixed[2 * k + 1] = __builtin_shuffle(a, b, vector{2, 6, 3, 7});
                    }
                }
                std::copy(mixed, mixed + lanes, rows);
            }
            char *q = dst + column * dst_step + row * sizeof(T);
            if (column + lanes <= n && row + lanes <= n_rows)
                for (int64_t k = 0; k < lanes; ++k)
                    std::memcpy(q + k * dst_step, &rows[k], sizeof(vector));
            else
                move_rows(reinterpret_cast<const char *>(rows), q, std::min(lanes, n - column),
                          std::min(lanes, n_rows - row) * sizeof(T), 16, dst_step);
        }
}

// Writes n elements of each of a few rows in turns, or reads them so; the step is in elements.
template <class T, int n_rows, bool writes>
void in_turns(const void *src, void *dst, int64_t n, int64_t step) {
    const auto *p = static_cast<const T *>(src);
    auto *q = static_cast<T *>(dst);
    for (int64_t i = 0; i < n; ++i)
        for (int k = 0; k < n_rows; ++k) {
            if constexpr (writes)
                q[i * n_rows + k] = p[i + k * step];
            else
                q[i + k * step] = p[i * n_rows + k];
        }
}

using turns = void (*)(const void *src, void *dst, int64_t n, int64_t step);

template <class T, bool writes>
turns turns_of(int64_t n_rows) {
    if (n_rows == 2) return in_turns<T, 2, writes>;
    if (n_rows == 3) return in_turns<T, 3, writes>;
    return n_rows == 4 ? in_turns<T, 4, writes> : nullptr;
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
    {"float32", "bfloat16", fastest_row<float, bfloat16>(), 4, 2, false},
    {"bfloat16", "float32", fastest_row<bfloat16, float>(), 2, 4, false},
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
    while (axes.size() < 2) axes.insert(axes.begin(), {1, 0, 0});
    // The axis along which the source is contiguous is next to the rows; their order is free.
    const auto dense = std::find_if(axes.begin(), axes.end() - 1,
                                    [](const axis &a) { return a[1] == 1 && a[0] > 1; });
    if (dense != axes.end() - 1) std::rotate(dense, dense + 1, axes.end() - 1);
    copy_row = match->copy;
    src_size = match->src_size;
    dst_size = match->dst_size;
}

void HostCopy::run(void *const *addresses) const {
    const auto *from = static_cast<const char *>(addresses[0]);
    auto *to = static_cast<char *>(addresses[1]);
    int64_t n_elements = 1;
    for (const axis &a : axes) n_elements *= a[0];
    const SecondThread second(n_elements >= least_for_second, n_elements < least_of_long);
    // The axis with most units: elements, but tiles and runs of two innermost axes stay whole.
    size_t longest = 0;
    int64_t unit = 1, n_units = 0;
    for (size_t a = 0; a < axes.size(); ++a) {
        const bool is_inner = a + 1 == axes.size(), is_tiled = a + 2 == axes.size() && is_turned();
        const int64_t size = is_inner ? elements_of_run : is_tiled ? elements_of_tile : 1;
        if (axes[a][0] <= n_units * size) continue;
        longest = a;
        unit = size;
        n_units = (axes[a][0] + size - 1) / size;
    }
    const auto [n, src_step, dst_step] = axes[longest];
    const int64_t n_parts = std::clamp<int64_t>(n_elements / elements_of_part, 1, n_units);
    SecondThread::each(n_parts, [&](int64_t i) {
        const int64_t begin = i * n_units / n_parts * unit;
        std::vector<axis> part = axes;
        part[longest][0] = std::min(n, (i + 1) * n_units / n_parts * unit) - begin;
        copy(part, from + begin * src_step * src_size, to + begin * dst_step * dst_size);
    });
}

// Rows of the source are adjacent, not those of the destination: cache lines of both at a time, by
// way of a tile if rows of the source are not whole blocks, or would push each other out of caches.
void HostCopy::transpose(const axis &outer, const axis &inner, const char *from, char *to) const {
    const bool has_moves = src_size == dst_size, is_short = dst_size == 2;
    if (has_moves && outer[2] == inner[0])
        if (const auto write =
                is_short ? turns_of<uint16_t, true>(inner[0]) : turns_of<uint32_t, true>(inner[0]))
            return write(from, to, outer[0], inner[1]);
    if (has_moves && inner[1] == outer[0])
        if (const auto read = is_short ? turns_of<uint16_t, false>(outer[0])
                                       : turns_of<uint32_t, false>(outer[0]))
            return read(from, to, inner[0], outer[2]);
    const auto write = dst_size == 2 ? write_columns<uint16_t> : write_columns<uint32_t>;
    const int64_t side = 64 / dst_size, lanes = side / 4;
    const int64_t src_step = inner[1] * src_size, dst_step = outer[2] * dst_size;
    const bool is_spread = src_step % 1024 != 0;
    alignas(16) char tile[32 * 64] = {};
    for (int64_t first = 0; first < outer[0]; first += side) {
        const int64_t n = std::min(side, outer[0] - first);
        for (int64_t i = 0; i < inner[0]; i += side) {
            const int64_t n_rows = std::min(side, inner[0] - i);
            const char *x = from + first * src_size + i * src_step;
            char *y = to + first * dst_step + i * dst_size;
            if (has_moves && is_spread && n % lanes == 0 && n_rows % lanes == 0) {
                write(x, y, n_rows, n, src_step, dst_step);
                continue;
            }
            if (has_moves)
                move_rows(x, tile, n_rows, n * src_size, src_step, 64);
            else
                for (int64_t k = 0; k < n_rows; ++k)
                    copy_row(x + k * src_step, tile + k * 64, n, 1, 1);
            write(tile, y, n_rows, n, 64, dst_step);
        }
    }
}

bool HostCopy::is_turned() const {
    const axis &outer = axes[axes.size() - 2], &inner = axes.back();
    return inner[1] != 1 && inner[2] == 1 && outer[1] == 1;
}

void HostCopy::copy_rows(const axis &outer, const axis &inner, const char *from, char *to) const {
    const int64_t src_step = outer[1] * src_size, dst_step = outer[2] * dst_size;
    if (src_size == dst_size && inner[1] == 1 && inner[2] == 1)
        return move_rows(from, to, outer[0], inner[0] * src_size, src_step, dst_step);
    for (int64_t i = 0; i < outer[0]; ++i)
        copy_row(from + i * src_step, to + i * dst_step, inner[0], inner[1], inner[2]);
}

void HostCopy::copy(const std::vector<axis> &axes, const char *from, char *to) const {
    const size_t n_outer = axes.size() - 2;
    const axis &outer = axes[n_outer], &inner = axes.back();
    std::vector<int64_t> position(n_outer, 0);
    for (;;) {
        if (is_turned())
            transpose(outer, inner, from, to);
        else
            copy_rows(outer, inner, from, to);
        size_t i = n_outer;
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
