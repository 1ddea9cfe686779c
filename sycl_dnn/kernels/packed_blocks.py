# SPDX-License-Identifier: Apache-2.0
"""Products with block-quantized matrices, as in files of language models.

A kernel decodes 32 weights into registers, multiplies them by a few rows of the other matrix and
accumulates in float32, so it reads only the blocks. Source of the formats: ggml, ggml-quants.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, dense, shares
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Maximum number of rows of the other matrix; the sums of each are in registers.
MOST_ROWS = 8
#: Maximum number of elements that a work-item normalizes in private memory.
_MAX_NORMED = 1 << 16
#: Activations of a ``gated`` number or vector in OpenCL C.
GATES = {
    "silu": "gate / (1.0f + exp(-gate))",
    "gelu": "0.5f * gate * (1.0f + erf(gate * 0.70710678f))",
    "gelu_tanh": "0.5f * gate * "
    "(1.0f + tanh(0.79788456f * gate * (1.0f + 0.044715f * gate * gate)))",
    "relu": "(gate < 0 ? (gated)0.0f : gate)",
}


class Block(NamedTuple):
    """A block format."""

    #: Weights per block, a multiple of 32.
    n_elements: int
    n_bytes: int
    #: OpenCL C: the 32 weights with the number ``j`` of the block at ``p``, into ``*lo``, ``*hi``.
    decoding: str


_SCALE = "const float d = HALF(p);"
_SCALE_AND_LEAST = "const float2 of = vload_half2(0, (__global const half *)p);"
_NIBBLES = """
    const int16 q = INTS(0, p + {});
    *lo = fma(FLOATS(q & 15), (float16){d}, (float16){least});
    *hi = fma(FLOATS(q >> 4), (float16){d}, (float16){least});"""
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
    "Q4_0": Block(32, 18, _SCALE + _NIBBLES.format(2, d="d", least="(-8 * d)")),
    "Q4_1": Block(32, 20, _SCALE_AND_LEAST + _NIBBLES.format(4, d="of.x", least="of.y")),
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
typedef float gated;
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

/* Rows of weights at once, as long as their sums fit in registers: several streams from memory. */
#define TOGETHER (M > 2 ? 1 : ROWS)
#ifdef GATED
#define STEP 1
#else
#define STEP ROWS
#endif
#ifdef EPS
#define OF_X(i) normed[(i) / 16]
#else
#define K k
#define OF_X(i) LOAD(i, x)
#endif

#define NEXT(i, last) \\
    if (w == w##last && row >= n##last) { row -= n##last; w = w##i; y = y##i; of = n##i; }

/* y (M, n) = x (M, k) times the transposed weights (n, k), for several matrices. */
ONE_ITEM
__kernel void packed_products(__global const element *x, NORM WEIGHTS ADDED RESULTS int k, NUMBERS
                              int n, int each) {
    GROUP_MEMORY;
#ifdef EPS
    vector normed[M * K / 16];
    for (int m = 0; m < M; ++m) {
        vector squares = 0;
        for (int i = 0; i < K; i += 16) {
            const vector v = LOAD(m * K + i, x);
            squares = fma(v, v, squares);
        }
        const float by = 1.0f / sqrt(sum(squares) / K + EPS);
        for (int i = 0; i < K; i += 16)
            OF_X(m * K + i) = LOAD(m * K + i, x) * by * vload16(0, of_norm + i);
    }
#endif
    const int first = (int)get_group_id(0) * each, last = min(first + each, n);
    const size_t wide = K / (32 * PARTS) * BYTES;
    for (int at = first; at < last; at += STEP) {
        __global float *to[ROWS];
        int n_rows[ROWS];
        float all[ROWS * M];
        for (int from = 0; from < ROWS; from += TOGETHER) {
            __global const uchar *p[TOGETHER];
            vector made[TOGETHER * M], more[TOGETHER * M];
            for (int i = 0; i < TOGETHER; ++i) {
                __global const uchar *w = w0;
                __global float *y = y0;
                const int r = from + i;
                int row = min(at + r, last - 1), of = n0; /* beyond the last one: that one again */
#ifdef GATED
                row = at;
                w = r ? w1 : w0;
#else
                CHOSEN
#endif
                p[i] = w + row * wide;
                to[r] = y + row;
                n_rows[r] = of;
                for (int m = 0; m < M; ++m) made[i * M + m] = more[i * M + m] = 0;
            }
            for (int part = ITEM; part < K / 32; part += L)
                for (int i = 0; i < TOGETHER; ++i) {
                    vector lo, hi;
                    decode(p[i], part, &lo, &hi);
                    for (int m = 0; m < M; ++m) {
                        vector *one = made + i * M + m, *other = M > 2 ? one : more + i * M + m;
                        *one = fma(lo, OF_X(m * K + part * 32), *one);
                        *other = fma(hi, OF_X(m * K + part * 32 + 16), *other);
                    }
                }
            for (int i = 0; i < TOGETHER * M; ++i)
                all[from * M + i] = group_sum(sum(made[i] + more[i]));
        }
        for (int m = 0; m < M; ++m) {
#ifdef GATED
            const float gate = all[m];
            all[m] = GATED * all[M + m];
#endif
            for (int r = 0; r < STEP; ++r) {
                const size_t by = (size_t)m * n_rows[r];
                if (ITEM == 0) to[r][by] = all[r * M + m] PLUS(added[to[r] + by - y0]);
            }
        }
    }
}

/* The weights (n, k); parts are counted over all rows. */
ONE_ITEM
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


class Around(NamedTuple):
    """Operations fused with the products.

    added : tensor (m, n), float32; added to the product with a single matrix
    norm : tensor (k,), float32; the rows of ``x`` are divided by their root mean square and
        multiplied with it
    eps : added to the mean square
    gate : of ``GATES``: the activation of the first product, which multiplies the second; or ""
    """

    added: Tensor | None = None
    norm: Tensor | None = None
    eps: float = 0.0
    gate: str = ""

    def fits(self, x: Tensor) -> bool:
        """Whether kernels normalize the rows of ``x`` and apply the activation, if they are few.

        Each group normalizes all rows, which costs little compared to its matrix rows on a CPU.
        """
        norm = self.norm
        is_float = norm is None or (norm.dtype == "float32" and norm.shape == x.shape[1:])
        return x.trace.is_on_cpu and is_float

    def macros(self, m: int, n_matrices: int) -> list[str]:
        """Return the macros for a kernel's parameters and fused operations.

        The source defines ``NEXT(i, last)``: continue with matrix ``i`` after the rows of matrix
        ``last``.
        """
        is_normed, is_added = self.norm is not None, self.added is not None

        def each(form: str, first: int = 0, last: int = 1 if self.gate else n_matrices) -> str:
            return " ".join(form.format(i, i - 1) for i in range(first, last))

        lines = [
            f"M {m}", f"CHOSEN {each('NEXT({0}, {1})', 1)}",
            f"WEIGHTS {each('__global const uchar *w{0},', 0, n_matrices)}",
            f"RESULTS {each('__global float *y{0},')}", f"NUMBERS {each('int n{0},')}",
            f"NORM {'__global const float *of_norm,' * is_normed}",
            f"ADDED {'__global const float *added,' * is_added}",
            f"FACTOR(v) {'* v' * is_normed}", f"PLUS(v) {'+ v' * is_added}",
        ]  # fmt: skip
        lines += [f"EPS {self.eps!r}f"] * is_normed
        return [*lines, f"GATED {GATES[self.gate]}"] if self.gate else lines


def _kernels(
    operand: Tensor, kind: str, dtype: str, rows: int = 1, n: int = 1, around: Around | None = None
) -> Kernels:
    """Return the kernels for ``n`` matrices of a type."""
    block, around = BLOCKS[kind], around or Around()
    macros = around.macros(rows, n)
    macros += [f"PARTS {block.n_elements // 32}", f"BYTES {block.n_bytes}"]
    macros += [f"K {operand.shape[1]}"] * (around.norm is not None)
    is_cpu = operand.trace.is_on_cpu
    macros.append(f"ROWS {2 if around.gate or (is_cpu and rows <= 2) else 1}")
    return Kernels(operand.trace, _DECODE + block.decoding + _KERNELS, dtype, 16, macros)


def width(data: Tensor, kind: str) -> int:
    """Return the number of weights of a row."""
    block = BLOCKS[kind]
    return data.shape[1] // block.n_bytes * block.n_elements


def packed_products(
    x: Tensor, matrices: Sequence[Tensor], kind: str, around: Around
) -> list[Tensor] | None:
    """Return ``x @ weights.T`` (m, n) in float32 for each matrix, None if no kernel accepts them.

    ``x``: tensor (m, k); ``matrices``: sequence of Tensor (n, bytes) of uint8; ``kind``: of
    ``BLOCKS``; ``around``: with an activation there are two matrices of the same shape and one
    result.
    """
    (m, k), sizes = x.shape, [w.shape[0] for w in matrices]
    is_small = 0 < m <= MOST_ROWS and min(sizes) > 0 and max(sizes) * max(k, 32) < MAX_SPAN
    if around.norm is not None and x.size > _MAX_NORMED:
        return None
    if not is_small or not k or x.dtype not in DTYPES:
        return None
    kernels = _kernels(x, kind, x.dtype, m, len(matrices), around)
    if not kernels.can_run("packed_products"):
        return None
    sizes = sizes[:1] if around.gate else sizes
    n = sum(sizes)
    share, n_groups = shares(x, n) if kernels.n_items == 1 else (1, n)
    name, numbers = "packed_products", [k, *sizes, n, share]
    return recorded_products(kernels, name, x, matrices, around, sizes, numbers, n_groups)


def recorded_products(
    kernels: Kernels,
    name: str,
    x: Tensor,
    matrices: Sequence[Tensor],
    around: Around,
    sizes: Sequence[int],
    numbers: Sequence[int],
    n_groups: int,
) -> list[Tensor]:
    """Record a kernel of products; return a result (m, size) in float32 for each of ``sizes``."""
    arrays = {"x": x, "norm": around.norm} | {f"w{i}": w for i, w in enumerate(matrices)}
    arrays |= {"added": around.added}
    inputs = {name: dense(t) for name, t in arrays.items() if t is not None}
    out = {f"y{i}": Out((x.shape[0], size), "float32") for i, size in enumerate(sizes)}
    return list(kernels.record(name, inputs, out, numbers, n_groups).values())


def packed_rows(data: Tensor, kind: str, dtype: str) -> Tensor | None:
    """Return the weights (n, k) of packed rows, None if there is no kernel for it."""
    n, k = data.shape[0], width(data, kind)
    kernels = _kernels(data, kind, dtype)
    if not 0 < n * k < MAX_SPAN or not kernels.can_run("packed_rows"):
        return None
    share, n_groups = shares(data, n * k // 32)
    if kernels.n_items > 1:
        share, n_groups = kernels.n_items, -(-(n * k // 32) // kernels.n_items)
    inputs, out, numbers = {"w": dense(data)}, {"dst": Out((n, k), dtype)}, [n * k // 32, share]
    # Repeated at each call: a cached result would take the memory that the blocks save.
    return kernels.record("packed_rows", inputs, out, numbers, n_groups, is_repeated=True)["dst"]
