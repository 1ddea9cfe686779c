# SPDX-License-Identifier: Apache-2.0
"""Products with blocks of narrow numbers in tiles of 16 matrix rows, for CPUs.

A tile interleaves its rows by 2 bytes. A vector holds pairs of weights of all 16 rows, which one
instruction multiplies by a pair of 16-bit integers and adds (``vpmaddwd``, ``vpdpwssd``), so no
sums across a vector are needed. Elements of the other matrix are rounded to 16 bits with a scale
for each block, 1/65534 of its largest element. Many rows of it are multiplied by the host
(``csrc/program/host_blocks.cpp``), which rounds them to 8 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn._core import MemoryDesc, cpu_isa, get_effective_cpu_isa
from sycl_dnn._core import algorithm as A
from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, dense, host_sequence, new_results, shares
from sycl_dnn.kernels.packed_blocks import BLOCKS, MOST_ROWS, Around, recorded_products
from sycl_dnn.onednn.dtypes import DATA_TYPES
from sycl_dnn.trace.capabilities import has_fast_bfloat16
from sycl_dnn.trace.steps import Layout, Out, Step
from sycl_dnn.trace.values import Tensor

#: Rows of a tile.
TILE = 16
#: Rows that are rearranged at a time, a multiple of ``TILE``.
_AT_ONCE = 1024
#: The type of the blocks, by the type of the tiles.
TILED = {f"{kind} in tiles": kind for kind in ("Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")}
#: Maximum number of elements of the other matrix in private memory.
_MAX_PRIVATE = 1 << 17
#: Activations of the host's products: algorithm, alpha, beta, no operand.
_GATES = {
    "silu": (A.eltwise_swish, 1.0, 0.0, -1), "gelu": (A.eltwise_gelu_erf, 0.0, 0.0, -1),
    "gelu_tanh": (A.eltwise_gelu_tanh, 0.0, 0.0, -1), "relu": (A.eltwise_relu, 0.0, 0.0, -1),
}  # fmt: skip
#: Columns of the blocks of oneDNN's layouts for bfloat16, the fastest ones first.
_WIDE = (48, 64, 32, 16)

_OF_K = ("HALVES(0) * SIX(0)", "HALVES(1) * -SIX(4)")
#: OpenCL C by type, for the 32 weights with the number ``j`` of a block: scales of 16 rows, least
#: values if any, and pair ``i`` of 16 of each row. A scale with ``h`` is for one half of the pairs.
_PARTS = {
    "Q4_0": ("HALVES(0)", "HALVES(0) * -8.0f", "NIBBLES(1, i)"),
    "Q4_1": ("HALVES(0)", "HALVES(1)", "NIBBLES(2, i)"),
    "Q8_0": ("HALVES(0)", "", "SIGNED(1 + (i))"),
    "Q4_K": (*_OF_K, "BITS(8 + j / 2 * 16 + (i), j % 2 * 4, 15)"),
    "Q5_K": (
        *_OF_K,
        "BITS(24 + j / 2 * 16 + (i), j % 2 * 4, 15) | BITS(8 + (i), j, 1) << (short32)4",
    ),
    "Q6_K": (
        "HALVES(104) * convert_float16(h ? SIGNED(96 + j).odd : SIGNED(96 + j).even)",
        "",
        "(BITS(j / 4 * 32 + j % 2 * 16 + (i), j % 4 / 2 * 4, 15)"
        " | BITS(64 + j / 4 * 16 + (i), j % 4 * 2, 3) << (short32)4) - (short32)32",
    ),
}

_TILES = """
typedef float16 gated;
typedef char char32 __attribute__((ext_vector_type(32)));
typedef uchar uchar32 __attribute__((ext_vector_type(32)));
typedef short short32 __attribute__((ext_vector_type(32)));
typedef int int32 __attribute__((ext_vector_type(32)));
#define CONVERT(v, type) __builtin_convertvector(v, type)
/* Two bytes of each row of the block at ``p``. */
#define UNIT(u) ((__global const ushort *)p + (u) * 16)
#define HALVES(u) vload_half16(0, (__global const half *)UNIT(u))
#define BYTES(u, type) __builtin_astype(vload16(0, UNIT(u)), type)
#define SIGNED(u) CONVERT(BYTES(u, char32), short32)
#define SHORTS(u) CONVERT(BYTES(u, uchar32), short32)
#define NIBBLES(u, i) \\
    ((i) < 8 ? SHORTS((u) + (i) % 8) & (short32)15 : SHORTS((u) + (i) % 8) >> (short32)4)
#define BITS(u, by, mask) (SHORTS(u) >> (short32)(by) & (short32)(mask))
#define BLOCK (UNITS * 32)
/* Bytes of a block for each 32 weights of a row. */
#define SHARE (BLOCK / PARTS)
/* Byte ``i`` of the scales of the types of K. */
#define SCALE_BYTE(i) (vload16(0, UNIT(2 + (i) / 2)) >> (ushort)((i) % 2 * 8) & (ushort)255)
#define SIX(of) convert_float16(six_bits(p, j, of))
/* Scales (``of`` is 0) or least values (4) of 6 bits. */
ushort16 six_bits(__global const uchar *p, int j, int of) {
    if (j < 4) return SCALE_BYTE(j + of) & (ushort)63;
    const ushort16 low = SCALE_BYTE(j + 4) >> (ushort)of & (ushort)15;
    return low | SCALE_BYTE(j - 4 + of) >> (ushort)6 << (ushort)4;
}
"""

_PRODUCTS = """
#define N_BLOCKS (K / 32)
/* Bytes that are read ahead: processors fetch few lines of a stream by themselves. */
#define AHEAD (SHARE * 16)

float most_of(float16 v) {
    const float8 a = fmax(v.lo, v.hi);
    const float4 b = fmax(a.lo, a.hi);
    const float2 c = fmax(b.lo, b.hi);
    return fmax(c.x, c.y);
}

/* NaN where a number is NaN or infinite: the row is then NaN, as products of floats are.
   The total is that of the rounded numbers, so their errors cancel between it and the products. */
void rounded(float16 lo, float16 hi, short *to, float *scale, float *total) {
    const float most = most_of(fmax(fabs(lo), fabs(hi))), strange = 0.0f * sum(lo + hi);
    const float size = fmax(most / 32767.0f, 0x1p-100f), by = 1.0f / size;
    lo = rint(lo * by), hi = rint(hi * by);
    vstore16(convert_short16_sat(lo), 0, to);
    vstore16(convert_short16_sat(hi), 1, to);
    *scale = size + strange;
    *total = size * sum(lo + hi) + strange;
}

/* Products of the rows of a tile with each row of x, whose pairs are given. */
void of_tile(__global const uchar *tile, const int *pairs, const float *scale, const float *total,
             float16 *made) {
    for (int m = 0; m < M; ++m) made[m] = 0;
    for (int b = 0; b < N_BLOCKS; ++b) {
        __global const uchar *p = tile + (size_t)(b / PARTS) * BLOCK;
        const int j = b % PARTS;
        /* A builtin of clang; the runtime's prefetch is a call. */
        for (int i = 0; i < SHARE; i += 64)
            __builtin_prefetch((const void *)(p + AHEAD + j * SHARE + i));
#pragma unroll
        for (int h = 0; h < HALF_SCALES; ++h) {
            int16 dots[M];
            for (int m = 0; m < M; ++m) dots[m] = 0;
#pragma unroll
            for (int o = 0; o < 16 / HALF_SCALES; ++o) {
                const int i = h * 8 + o;
                const int32 q = CONVERT((short32)(PAIRS(i)), int32);
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    const int16 pair = pairs[m * (K / 2) + b * 16 + i];
                    const int32 both = q * CONVERT(__builtin_astype(pair, short32), int32);
                    dots[m] += both.even + both.odd;
                }
            }
            const float16 d = SCALES;
            for (int m = 0; m < M; ++m)
                made[m] = fma(convert_float16(dots[m]), d * scale[m * N_BLOCKS + b], made[m]);
        }
#ifdef LEAST
        const float16 least = LEAST;
        for (int m = 0; m < M; ++m)
            made[m] = fma(least, (float16)total[m * N_BLOCKS + b], made[m]);
#endif
    }
}

#define NEXT(i, last) if (w == w##last && tile >= n##last / 16) \\
    { tile -= n##last / 16; w = w##i; y = y##i; of = n##i; }

/* y (M, n) = x (M, K) times the transposed weights (n, K), for several matrices. */
ONE_ITEM
__kernel void tiled_products(__global const element *x, NORM WEIGHTS ADDED RESULTS NUMBERS
                             int n_tiles, int each) {
    int pairs[M * K / 2];
    float scale[M * N_BLOCKS], total[M * N_BLOCKS];
    for (int m = 0; m < M; ++m) {
        float by = 1.0f;
#ifdef EPS
        vector squares = 0;
        for (int i = 0; i < K; i += 16) {
            const vector v = LOAD(m * K + i, x);
            squares = fma(v, v, squares);
        }
        by = 1.0f / sqrt(sum(squares) / K + EPS);
#endif
        for (int b = 0; b < N_BLOCKS; ++b) {
            const int i = b * 32, at = m * N_BLOCKS + b;
            rounded(LOAD(m * K + i, x) * by FACTOR(vload16(0, of_norm + i)),
                    LOAD(m * K + i + 16, x) * by FACTOR(vload16(0, of_norm + i + 16)),
                    (short *)(pairs + (m * K + i) / 2), scale + at, total + at);
        }
    }
    const int first = (int)get_group_id(0) * each;
    for (int at = first; at < min(first + each, n_tiles); ++at) {
        __global const uchar *w = w0;
        __global float *y = y0;
        int tile = at, of = n0;
        float16 all[M];
        CHOSEN
        const size_t from = (size_t)tile * (N_BLOCKS / PARTS) * BLOCK;
        of_tile(w + from, pairs, scale, total, all);
#ifdef GATED
        float16 up[M];
        of_tile(w1 + from, pairs, scale, total, up);
        for (int m = 0; m < M; ++m) {
            const float16 gate = all[m];
            all[m] = GATED * up[m];
        }
#endif
        for (int m = 0; m < M; ++m) {
            const size_t to = (size_t)m * of + tile * 16;
            vstore16(all[m] PLUS(vload16(0, added + to)), 0, y + to);
        }
    }
}
"""

_COLUMNS = """
#ifdef WIDE
/* As oneDNN's kernels for tiles of matrices read them: two rows (k) of WIDE columns, in pairs. */
#define PUT_PAIR(lo, hi, i) vstore16( \\
    convert_uint16(narrow(lo)) | convert_uint16(narrow(hi)) << 16, 0, (__global uint *)y \\
    + (((size_t)(tile * 16 / WIDE) * n_blocks + b) * 16 + (i)) * WIDE + tile * 16 % WIDE)
#else
#define PUT_PAIR(lo, hi, i) do { \\
    __global element *to = y + (size_t)(b * 32 + 2 * (i)) * n + tile * 16; \\
    STORE(lo, 0, to); STORE(hi, 0, to + n); } while (0)
#endif

/* The transposed weights (k, n). */
ONE_ITEM
__kernel void tiled_columns(__global const uchar *w, __global element *y, int n, int n_blocks,
                            int each) {
    const int first = (int)get_group_id(0) * each, last = min(first + each, n / 16);
    for (int b = 0; b < n_blocks; ++b)
        for (int tile = first; tile < last; ++tile) {
            __global const uchar *p = w + ((size_t)tile * n_blocks + b) / PARTS * BLOCK;
            const int j = b % PARTS;
#ifdef LEAST
            const float16 least = LEAST;
#else
            const float16 least = 0.0f;
#endif
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                const int h = i / 8;
                const short32 q = PAIRS(i);
                const float16 d = SCALES;
                PUT_PAIR(fma(convert_float16(q.even), d, least),
                         fma(convert_float16(q.odd), d, least), i);
            }
        }
}
"""


def in_tiles(data: Any, kind: str) -> Any:
    """Return the rows (n, bytes) of a NumPy array in tiles, in the same shape and memory."""
    data, half = np.ascontiguousarray(data), BLOCKS[kind].n_bytes // 2
    for first in range(0, len(data), _AT_ONCE):
        part = data[first : first + _AT_ONCE]
        units = part.view(np.uint16).reshape(-1, TILE, data.shape[1] // 2 // half, half)
        part[:] = units.transpose(0, 2, 3, 1).copy().view(np.uint8).reshape(part.shape)
    return data


def _kernels(data: Tensor, kind: str, dtype: str, source: str, macros: Sequence[str]) -> Kernels:
    (scales, least, pairs), block = _PARTS[TILED[kind]], BLOCKS[TILED[kind]]
    format_macros = [
        f"UNITS {block.n_bytes // 2}", f"PARTS {block.n_elements // 32}", f"SCALES {scales}",
        f"PAIRS(i) {pairs}", f"HALF_SCALES {1 + ('h ?' in scales)}",
    ]  # fmt: skip
    format_macros += [f"LEAST {least}"] * bool(least)
    return Kernels(data.trace, _TILES + source, dtype, 16, [*format_macros, *macros])


def tiled_products(
    x: Tensor, matrices: Sequence[Tensor], kind: str, around: Around
) -> list[Tensor] | None:
    """Return ``x @ weights.T`` (m, n) in float32 for each matrix, None if no kernel accepts them.

    ``x``: tensor (m, k); ``matrices``: sequence of Tensor (n, bytes) of uint8; ``kind``: of
    ``TILED``; ``around``: with an activation there are two matrices of the same shape and one
    result.
    """
    (m, k), sizes = x.shape, [w.shape[0] for w in matrices]
    if m > MOST_ROWS:
        return _of_many_rows(x, matrices, kind, around)
    is_small = m > 0 and 0 < x.size <= _MAX_PRIVATE and min(sizes) > 0
    if not is_small or max(sizes) * k >= MAX_SPAN or x.dtype not in DTYPES or not x.trace.is_on_cpu:
        return None
    macros = [*around.macros(m, len(matrices)), f"K {k}"]
    kernels = _kernels(x, kind, x.dtype, _PRODUCTS, macros)
    if not kernels.can_run("tiled_products"):
        return None
    sizes = sizes[:1] if around.gate else sizes
    n_tiles = sum(sizes) // TILE
    share, n_groups = shares(x, n_tiles)
    name, numbers = "tiled_products", [*sizes, n_tiles, share]
    return recorded_products(kernels, name, x, matrices, around, sizes, numbers, n_groups)


def _of_many_rows(
    x: Tensor, matrices: Sequence[Tensor], kind: str, around: Around
) -> list[Tensor] | None:
    """Return the products that the host computes; None if others are faster, or x has no columns.

    Tiles of AMX multiply decoded matrices in bfloat16 several times as fast.
    """
    (m, k), isa, bits = x.shape, get_effective_cpu_isa(), cpu_isa.avx2.value
    is_fast = isa.value & bits == bits and "amx" not in isa.name
    if not (is_fast and x.trace.is_on_cpu and x.dtype == "float32" and k):
        return None
    sizes = [w.shape[0] for w in matrices]
    functions = (_GATES[around.gate],) if around.gate else ()
    numbers = (m, k, list(TILED).index(kind), *sizes)
    sizes = sizes[:1] if around.gate else sizes
    given = {"x": x, "norm": around.norm, "added": around.added}
    given |= {f"w{i}": w for i, w in enumerate(matrices)}
    inputs = {name: dense(t) for name, t in given.items() if t is not None}
    outs = new_results(x.trace, [Out((m, n), "float32") for n in sizes])
    outputs = {f"y{i}": y for i, y in enumerate(outs)}
    order = {name: i for i, name in enumerate((*inputs, *outputs))}
    arrays = tuple((order.get(name, -1), 0) for name in (*given, *outputs))
    row = ("blocks", arrays, numbers, functions, (around.eps,))
    x.trace.add_step(Step(host_sequence([row], "tiled_products", ()), inputs, outputs))
    return outs


def tiled_columns(data: Tensor, kind: str, dtype: str) -> Tensor | None:
    """Return the transposed weights (k, n) of tiles, None if there is no kernel for it.

    In bfloat16 they are in a layout of oneDNN's kernels, which need not copy them.
    """
    block = BLOCKS[TILED[kind]]
    n, n_blocks = data.shape[0], data.shape[1] // block.n_bytes * (block.n_elements // 32)
    if not 0 < n * n_blocks * 32 < MAX_SPAN or not data.trace.is_on_cpu:
        return None
    shape, macros = (n_blocks * 32, n), []
    layout: Layout = "row_major"
    if dtype == "bfloat16" and has_fast_bfloat16(data.trace.engine):
        wide = next(w for w in _WIDE if n % w == 0)
        layout = MemoryDesc(shape, DATA_TYPES[dtype], f"BA16a{wide}b2a")
        macros = [f"WIDE {wide}"]
    kernels = _kernels(data, kind, dtype, _COLUMNS, macros)
    if not kernels.can_run("tiled_columns"):
        return None
    share, n_groups = shares(data, n // TILE)
    inputs, out = {"w": dense(data)}, {"dst": Out(shape, dtype, layout)}
    numbers = [n, n_blocks, share]
    # Repeated at each call: a cached result would take the memory that the blocks save.
    return kernels.record("tiled_columns", inputs, out, numbers, n_groups, is_repeated=True)["dst"]
