# SPDX-License-Identifier: Apache-2.0
"""Products with matrices whose rows are blocks of narrow numbers, as files of language models have.

A kernel decodes 32 weights into registers, multiplies them with a few rows of the other matrix, and
adds up in float32: it reads nothing but the blocks. Source of the blocks: ggml, ggml-quants.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.launching import Kernels, dense, shares
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Rows of the other matrix that one kernel multiplies; each has sums in registers.
MOST_ROWS = 8
#: Kernels count elements in 32 bits.
_MOST = 1 << 31


class Block(NamedTuple):
    """A type of blocks."""

    #: How many weights a block has, a multiple of 32.
    n_elements: int
    n_bytes: int
    #: OpenCL C: the 32 weights with the number ``j`` of the block at ``p``, into ``*lo``, ``*hi``.
    decoding: str


_SCALE = "const float d = HALF(p);"
_SCALE_AND_LEAST = "const float d = HALF(p), m = HALF(p + 2);"
_NIBBLES = """
    const int16 q = INTS(0, p + {});
    *lo = FLOATS(q & 15) * d {least};
    *hi = FLOATS(q >> 4) * d {least};"""
#: Scale and least value of 6 bits each, of the twelve bytes from ``s`` on.
_OF_K = """
    __global const uchar *s = p + 4;
    const float d = HALF(p) * (j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6 << 4));
    const float m = HALF(p + 2) * (j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) | (s[j] >> 6 << 4));
    const int by = j % 2 * 4;"""

BLOCKS = {
    "F16": Block(32, 64, """
    *lo = vload_half16(0, (__global const half *)p);
    *hi = vload_half16(1, (__global const half *)p);"""),
    "BF16": Block(32, 64, """
    *lo = as_float16(convert_uint16(vload16(0, (__global const ushort *)p)) << 16);
    *hi = as_float16(convert_uint16(vload16(1, (__global const ushort *)p)) << 16);"""),
    "Q4_0": Block(32, 18, _SCALE + _NIBBLES.format(2, least="- 8 * d")),
    "Q4_1": Block(32, 20, _SCALE_AND_LEAST + _NIBBLES.format(4, least="+ m")),
    "Q8_0": Block(32, 34, _SCALE + """
    *lo = FLOATS(vload16(0, (__global const char *)p + 2)) * d;
    *hi = FLOATS(vload16(1, (__global const char *)p + 2)) * d;"""),
    "Q4_K": Block(256, 144, _OF_K + """
    __global const uchar *q = p + 16 + j / 2 * 32;
    *lo = FLOATS(INTS(0, q) >> by & 15) * d - m;
    *hi = FLOATS(INTS(1, q) >> by & 15) * d - m;"""),
    "Q5_K": Block(256, 176, _OF_K + """
    __global const uchar *q = p + 48 + j / 2 * 32, *h = p + 16;
    *lo = FLOATS((INTS(0, q) >> by & 15) | (INTS(0, h) >> j & 1) << 4) * d - m;
    *hi = FLOATS((INTS(1, q) >> by & 15) | (INTS(1, h) >> j & 1) << 4) * d - m;"""),
    "Q6_K": Block(256, 210, """
    __global const char *s = (__global const char *)p + 192 + j * 2;
    __global const uchar *q = p + j / 4 * 64 + j % 2 * 32, *h = p + 128 + j / 4 * 32;
    const float d = HALF(p + 208);
    const int by = j % 4 / 2 * 4, of_h = j % 4 * 2;
    *lo = FLOATS(((INTS(0, q) >> by & 15) | (INTS(0, h) >> of_h & 3) << 4) - 32) * (d * s[0]);
    *hi = FLOATS(((INTS(1, q) >> by & 15) | (INTS(1, h) >> of_h & 3) << 4) - 32) * (d * s[1]);"""),
}  # fmt: skip

_DECODE = """
#define HALF(p) vload_half(0, (__global const half *)(p))
#define INTS(i, p) convert_int16(vload16(i, p))
#define FLOATS(q) convert_float16(q)
/* The 32 weights of a row with the number ``part``. */
void decode(__global const uchar *row, int part, float16 *lo, float16 *hi) {
    __global const uchar *p = row + (size_t)(part / PARTS) * BYTES;
    const int j = part % PARTS;
    """
_KERNELS = """
}

/* y (M, n) = x (M, k) times the transposed weights (n, k), for several matrices. */
__kernel void packed_products(__global const element *x, WEIGHTS ADDED RESULTS int k, NUMBERS
                              int n, int each) {
    GROUP_MEMORY;
    const int first = (int)get_group_id(0) * each;
    const size_t wide = k / (32 * PARTS) * BYTES;
    for (int at = first; at < min(first + each, n); ++at) {
        __global const uchar *w = w0;
        __global float *y = y0;
        int row = at, n_rows = n0;
        CHOSEN
        vector made[M];
        for (int m = 0; m < M; ++m) made[m] = 0;
        for (int part = ITEM; part < k / 32; part += L) {
            vector lo, hi;
            decode(w + row * wide, part, &lo, &hi);
            for (int m = 0; m < M; ++m) {
                __global const element *of_x = x + (size_t)m * k + part * 32;
                made[m] += lo * LOAD(0, of_x) + hi * LOAD(16, of_x);
            }
        }
        for (int m = 0; m < M; ++m) {
            const float all = group_sum(sum(made[m]));
            const size_t to = (size_t)m * n_rows + row;
            if (ITEM == 0) y[to] = all PLUS;
        }
    }
}

/* The weights (n, k); parts are counted over all rows. */
__kernel void packed_rows(__global const uchar *w, __global element *y, int total, int each) {
    const int first = (int)get_group_id(0) * each;
    for (int part = first + ITEM; part < min(first + each, total); part += L) {
        vector lo, hi;
        decode(w, part, &lo, &hi);
        __global element *at = y + (size_t)part * 32;
        STORE(lo, 0, at);
        STORE(hi, 16, at);
    }
}
"""


def _kernels(given: Tensor, kind: str, dtype: str, rows: int, n: int, is_added: bool) -> Kernels:
    """Return the kernels for ``n`` matrices of a type."""
    block = BLOCKS[kind]

    def each(form: str, first: int = 0) -> str:
        return " ".join(form.format(i, i - 1) for i in range(first, n))

    macros = [
        f"M {rows}", f"PARTS {block.n_elements // 32}", f"BYTES {block.n_bytes}",
        f"WEIGHTS {each('__global const uchar *w{0},')}",
        f"RESULTS {each('__global float *y{0},')}", f"NUMBERS {each('int n{0},')}",
        "CHOSEN " + each("if (w == w{1} && row >= n{1}) "
                         "{{ row -= n{1}; w = w{0}; y = y{0}; n_rows = n{0}; }}", 1),
        f"ADDED {'__global const float *added,' * is_added}", f"PLUS {'+ added[to]' * is_added}",
    ]  # fmt: skip
    source = _DECODE + block.decoding + _KERNELS
    return Kernels(given.trace, source, dtype, 16, macros)


def width(data: Tensor, kind: str) -> int:
    """Return how many weights a row has."""
    block = BLOCKS[kind]
    return data.shape[1] // block.n_bytes * block.n_elements


def packed_products(
    x: Tensor, matrices: Sequence[Tensor], kind: str, added: Tensor | None = None
) -> list[Tensor] | None:
    """Return ``x @ weights.T`` (m, n) in float32 for each matrix, None if no kernel accepts them.

    Parameters
    ----------
    x : Tensor (m, k)
    matrices : sequence of Tensor (n, bytes) of uint8
    kind : str
        Of ``BLOCKS``.
    added : Tensor (m, n), optional
        float32; added to the product with a single matrix.
    """
    (m, k), sizes = x.shape, [w.shape[0] for w in matrices]
    is_small = 0 < m <= MOST_ROWS and min(sizes) > 0 and max(sizes) * max(k, 32) < _MOST
    if not is_small or not k or x.dtype not in DTYPES:
        return None
    kernels = _kernels(x, kind, x.dtype, m, len(matrices), added is not None)
    if not kernels.can_run("packed_products"):
        return None
    n = sum(sizes)
    each, n_groups = shares(x, n) if kernels.n_items == 1 else (1, n)
    given = {"x": dense(x)} | {f"w{i}": dense(w) for i, w in enumerate(matrices)}
    given |= {} if added is None else {"added": dense(added)}
    out = {f"y{i}": Out((m, size), "float32") for i, size in enumerate(sizes)}
    made = kernels.record("packed_products", given, out, [k, *sizes, n, each], n_groups)
    return list(made.values())


def packed_rows(data: Tensor, kind: str, dtype: str) -> Tensor | None:
    """Return the weights (n, k) of packed rows, None if there is no kernel for it."""
    n, k = data.shape[0], width(data, kind)
    kernels = _kernels(data, kind, dtype, 1, 1, False)
    if not 0 < n * k < _MOST or not kernels.can_run("packed_rows"):
        return None
    each, n_groups = shares(data, n * k // 32)
    if kernels.n_items > 1:
        each, n_groups = kernels.n_items, -(-(n * k // 32) // kernels.n_items)
    given, out, numbers = {"w": dense(data)}, {"dst": Out((n, k), dtype)}, [n * k // 32, each]
    # At each call: kept, it would need the memory that the blocks save.
    return kernels.record("packed_rows", given, out, numbers, n_groups, is_repeated=True)["dst"]
