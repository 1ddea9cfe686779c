// SPDX-License-Identifier: Apache-2.0
#include "program/host_blocks.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "program/host_tile.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sycl_dnn {

namespace block_loops {

// Rows of x as 8-bit integers, with a scale and a total for each group of columns.
struct quantized_rows {
    int8_t *codes;
    float *scales, *totals;
};

// Tiles as bytes of four columns of each row, with the scales and least values of 16 rows for each
// group of columns.
struct decoded_tiles {
    uint8_t *codes;
    float *scales, *least;
};

// In the order of kernels/tiled_blocks.py.
enum packed_kind { q4_0, q4_1, q8_0, q4_k, q5_k, q6_k };

// For a block: its size in pairs of bytes, parts of 32 numbers, and numbers with the same scale;
// the greatest number.
struct format {
    int n_units, n_parts, group, most;
};
constexpr format formats[] = {{9, 1, 32, 15},  {10, 1, 32, 15}, {17, 1, 32, 255},
                              {72, 8, 32, 15}, {88, 8, 32, 31}, {105, 8, 16, 63}};

struct packed_loops {
    void (*quantize)(const float *x, int64_t k, int group, const float *norm, float epsilon,
                     int8_t *codes, float *scales, float *totals);
    void (*read_tile)(const uint16_t *tile, int64_t n_parts, uint8_t *codes, float *scales,
                      float *least);
    // 1, 4 or 8 rows and one tile, or `n_tiles`; no more than `most_rows`.
    using product = void (*)(const quantized_rows &x, int64_t row, int64_t rows, int64_t k,
                             const decoded_tiles &w, float *sums);
    product of_one, of_several;
    int n_tiles, most_rows;
};

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define BEGIN(set) PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define END PRAGMA(clang attribute pop)
#else
#define BEGIN(set) PRAGMA(GCC push_options) PRAGMA(GCC target(set))
#define END PRAGMA(GCC pop_options)
#endif

BEGIN("avx2,fma,f16c")
#define INSTRUCTIONS avx2
#define WIDTH 8
#define TILES 1
#include "program/host_blocks.inc"
END

BEGIN("avx2,fma,f16c,avxvnni")
#define INSTRUCTIONS avx2_vnni
#define WIDTH 8
#define TILES 1
#define DOT(sums, codes, x) \
    (words) _mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)codes, (__m256i)x)
#include "program/host_blocks.inc"
END

BEGIN("avx512f,avx512vl,avx512dq,avx512bw,avx512vnni,fma,f16c")
#define INSTRUCTIONS avx512_vnni
#define WIDTH 16
#define TILES 2
#define DOT(sums, codes, x) (words) _mm512_dpbusd_epi32((__m512i)sums, (__m512i)codes, (__m512i)x)
#include "program/host_blocks.inc"
END

#undef BEGIN
#undef END
#undef PRAGMA
#pragma GCC diagnostic pop
#endif

const packed_loops *loops() {
    static const packed_loops *const chosen = []() -> const packed_loops * {
#if defined(__x86_64__)
        const int isa = dnnl_get_effective_cpu_isa();
        const auto has = [isa](int all) { return (isa & all) == all; };
        if (has(dnnl_cpu_isa_avx512_core_vnni)) return avx512_vnni::all;
        if (has(dnnl_cpu_isa_avx2_vnni)) return avx2_vnni::all;
        if (has(dnnl_cpu_isa_avx2)) return avx2::all;
#endif
        return nullptr;
    }();
    return chosen;
}

}  // namespace block_loops

using namespace block_loops;

namespace {

constexpr int64_t tile_rows = 16, tiles_of_panel = 2, most_rows = 8;
// Elements of rows that all tiles are multiplied by before the next rows: they stay in the cache of
// a processor.
constexpr int64_t elements_at_once = 1 << 19;

struct BlockProduct {
    const HostSequence::operation &o;
    float *const *arrays;
    const int64_t m = o.sizes[0], k = o.sizes[1], *const n = o.sizes.data() + 3;
    const int64_t n_matrices = o.sizes.size() - 3;
    const format of = formats[o.sizes[2]];
    const packed_loops &fast = loops()[o.sizes[2]];
    const int64_t n_groups = k / of.group;
    const bool is_gated = !o.functions.empty();

    // Memory of a thread for rows, or for tiles of 16.
    template <class T, class Code>
    T numbers_of(int which, int64_t rows, Code *) const {
        const int64_t n_codes = rows * k / 4;
        float *const all = scratch(which, n_codes + 2 * rows * n_groups).data();
        return {reinterpret_cast<Code *>(all), all + n_codes, all + n_codes + rows * n_groups};
    }

    // Tiles that are multiplied together: of a matrix, or one of both matrices.
    int64_t tiles_of(int64_t matrix) const { return n[matrix] / tile_rows; }
    int64_t panels_of(int64_t matrix) const {
        return is_gated ? tiles_of(matrix) : (tiles_of(matrix) + 1) / tiles_of_panel;
    }

    // The rows from one to another by the panel with the number i.
    void multiply_panel(const quantized_rows &x, int64_t begin, int64_t end, int64_t i) const {
        int64_t matrix = 0;
        for (; !is_gated && i >= panels_of(matrix); ++matrix) i -= panels_of(matrix);
        const int64_t tile = is_gated ? i : i * tiles_of_panel;
        const int64_t n_tiles = is_gated ? 2 : std::min(tiles_of_panel, tiles_of(matrix) - tile);
        const auto w = numbers_of<decoded_tiles, uint8_t>(0, tiles_of_panel * tile_rows, nullptr);
        const int64_t n_parts = k / 32, n_units = n_parts / of.n_parts * of.n_units;
        for (int64_t t = 0; t < n_tiles; ++t) {
            const auto *tiles =
                reinterpret_cast<const uint16_t *>(arrays[3 + matrix + is_gated * t]);
            fast.read_tile(tiles + (tile + !is_gated * t) * n_units * tile_rows, n_parts,
                           w.codes + t * k * tile_rows, w.scales + t * n_groups * tile_rows,
                           w.least + t * n_groups * tile_rows);
        }
        for (int64_t row = begin; row < end;) {
            const int64_t left = end - row;
            const int64_t rows = left >= fast.most_rows ? fast.most_rows : left >= 4 ? 4 : 1;
            alignas(64) float sums[tiles_of_panel * most_rows * tile_rows];
            for (int64_t t = 0; t < n_tiles;) {
                const bool is_one = n_tiles - t < fast.n_tiles;
                const decoded_tiles from{w.codes + t * k * tile_rows,
                                         w.scales + t * n_groups * tile_rows,
                                         w.least + t * n_groups * tile_rows};
                (is_one ? fast.of_one : fast.of_several)(x, row, rows, k, from,
                                                         sums + t * rows * tile_rows);
                t += is_one ? 1 : fast.n_tiles;
            }
            finish(sums, matrix, tile, is_gated ? 1 : n_tiles, row, rows);
            row += rows;
        }
    }

    // Applies the activation, and writes the results with the summand.
    void finish(float *sums, int64_t matrix, int64_t tile, int64_t n_tiles, int64_t row,
                int64_t rows) const {
        const auto &f = host_rows::fast();
        const auto add = f.combination_of(dnnl_binary_add);
        const int64_t size = rows * tile_rows;
        if (is_gated) {
            o.functions[0].apply(sums, size, o.functions[0].alpha, o.functions[0].beta);
            f.combination_of(dnnl_binary_mul)(sums, sums + size, size);
        }
        for (int64_t t = 0; t < n_tiles; ++t)
            for (int64_t r = 0; r < rows; ++r) {
                const int64_t at = (row + r) * n[matrix] + (tile + t) * tile_rows;
                float *const from = sums + t * size + r * tile_rows;
                if (arrays[2]) add(from, arrays[2] + at, tile_rows);
                std::memcpy(arrays[3 + n_matrices + matrix] + at, from, tile_rows * sizeof *from);
            }
    }

    void run() const {
        const auto x = numbers_of<quantized_rows, int8_t>(1, m, nullptr);
        const float epsilon = o.numbers.empty() ? 0.0f : o.numbers[0];
        in_parts(m, work_of_element * k, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r)
                fast.quantize(arrays[0] + r * k, k, of.group, arrays[1], epsilon, x.codes + r * k,
                              x.scales + r * n_groups, x.totals + r * n_groups);
        });
        int64_t n_panels = 0;
        for (int64_t i = 0; i < (is_gated ? 1 : n_matrices); ++i) n_panels += panels_of(i);
        const int64_t n_chunks = (m * k + elements_at_once - 1) / elements_at_once;
        const int64_t rows =
            std::max<int64_t>(most_rows, (m / n_chunks + most_rows - 1) / most_rows * most_rows);
        const int64_t n = (m + rows - 1) / rows * n_panels;
        in_parts(n, rows * k * tiles_of_panel * tile_rows, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t first = i / n_panels * rows;
                multiply_panel(x, first, std::min(m, first + rows), i % n_panels);
            }
        });
    }
};

}  // namespace

void multiply_blocks(const HostSequence::operation &o, float *const *arrays) {
    BlockProduct{o, arrays}.run();
}

int64_t work_of_blocks(const HostSequence::operation &o) {
    int64_t n = 0;
    for (size_t i = 3; i < o.sizes.size(); ++i) n += o.sizes[i];
    return o.sizes[0] * o.sizes[1] * n;
}

}  // namespace sycl_dnn
