# SPDX-License-Identifier: Apache-2.0
"""Slices of an array by index as one kernel, and their gradient: sums of slices by index.

The array is viewed as (outer, n, inner). A sum adds its terms in the order of the numbers, whatever
the device: results are the same from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from sycl_dnn import _core
from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.launching import Kernels, dense, units
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Kernels count slices in 32 bits.
_MOST = 1 << 31
#: Minimum elements of a slice in a group of the gradient: smaller parts share cache lines.
_STRIPE = 64
#: What is copied, by the bytes of an element.
_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
#: The bits of NaN.
_NAN = {
    "float64": 0x7FF8 << 48, "float32": 0x7FC00000, "bfloat16": 0x7FC0, "float16": 0x7E00,
    "float8_e4m3": 0x7F, "float8_e5m2": 0x7F,
}  # fmt: skip

_SOURCE = """
#define ABSENT_VECTOR ((JOIN(word, V))(word)ABSENT)
#define FOUND(k) \\
    long at = numbers[k]; \\
    if (wraps && at < 0) at += n; \\
    const bool known = at >= 0 && at < n;

__kernel void slices_taken(__global const number *numbers, __global const word *x,
                           __global word *y, int n, int m, int inner, int each, int total,
                           int wraps) {
    const int first = (int)get_group_id(0) * each, whole = inner / V * V;
    for (int r = first; r < min(first + each, total); ++r) {
        FOUND(r % m)
        __global word *q = y + (size_t)r * inner;
        __global const word *p = x + ((size_t)(r / m) * n + (known ? at : 0)) * inner;
        for (int i = ITEM * V; i < whole; i += L * V)
            JOIN(vstore, V)(known ? JOIN(vload, V)(0, p + i) : ABSENT_VECTOR, 0, q + i);
        for (int i = whole + ITEM; i < inner; i += L) q[i] = known ? p[i] : (word)ABSENT;
    }
}

__kernel void slices_added(__global const number *numbers, __global const element *dy,
                           __global float *dx, int n, int m, int inner, int each, int parts,
                           int width, int stripes, int left_out, int wraps) {
    const int g = get_group_id(0), outer = g / (parts * stripes);
    const int low = g / stripes % parts * each, high = min(n, low + each);
    const int left = g % stripes * width, right = min(inner, left + width);
    const int whole = left + (right - left) / V * V;
    for (int row = low; row < high; ++row) {
        __global float *q = dx + ((size_t)outer * n + row) * inner;
        for (int i = left + ITEM * V; i < whole; i += L * V) PUT((vector)0, i, q);
        for (int i = whole + ITEM; i < right; i += L) q[i] = 0;
    }
    for (int k = 0; k < m; ++k) {
        FOUND(k)
        if (!known || at == left_out || at < low || at >= high) continue;
        __global float *q = dx + ((size_t)outer * n + at) * inner;
        __global const element *p = dy + ((size_t)outer * m + k) * inner;
        for (int i = left + ITEM * V; i < whole; i += L * V) PUT(GET(i, q) + LOAD(i, p), i, q);
        for (int i = whole + ITEM; i < right; i += L) q[i] += LOAD1(p, i);
    }
}
"""


class Slices(NamedTuple):
    """Which slices are selected: ``numbers`` (m,) along an axis of an array."""

    numbers: Tensor
    shape: tuple[int, ...]
    axis: int
    #: Whether negative numbers count from the end.
    wraps: bool = False
    #: A number whose slices have no gradient; -1 for none.
    left_out: int = -1

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(outer, n, inner)."""
        before, after = self.shape[: self.axis], self.shape[self.axis + 1 :]
        return math.prod(before), self.shape[self.axis], math.prod(after)


def taken(x: Tensor, slices: Slices, composed: Callable[[], Tensor]) -> Tensor:
    """Return the slices of an array, by ``composed`` if dpnp is to compute them.

    Parameters
    ----------
    x : Tensor
        Row-major, or copied.
    slices : Slices
        Numbers out of range give NaN (0 for integers) and have no gradient.
    composed : callable
        Records the same without kernels; second derivatives are its own.

    Returns
    -------
    Tensor
        Shape of ``x`` with the count of numbers in place of the axis.
    """
    m = slices.numbers.size
    outer, n, inner = slices.sizes
    if not _is_taken(x, outer * m, outer * n, n, inner):
        return composed()
    width = dtypes.bits_of(x.dtype) // 8
    macros = [
        f"number {_integer(slices.numbers)}", f"word {_WORDS[width]}",
        f"ABSENT {_NAN.get(x.dtype, 0)}{'ul' if width == 8 else ''}",
    ]  # fmt: skip
    kernels = Kernels(x.trace, _SOURCE, "float32", 16, macros)
    if not kernels.can_run("slices_taken"):
        return composed()
    total = outer * m
    # Few slices are one group: it would end before others have started.
    each = max(-(-total // (units(x) * 4)), -(-_STRIPE * 64 // inner))
    counts = [n, m, inner, each, total, int(slices.wraps)]
    shape = (*x.shape[: slices.axis], m, *x.shape[slices.axis + 1 :])

    def body() -> Tensor:
        given = {"numbers": dense(slices.numbers), "src": dense(x)}
        out = {"dst": Out(shape, x.dtype)}
        return kernels.record("slices_taken", given, out, counts, -(-total // each))["dst"]

    def rule(dy: Tensor) -> dict[str, Tensor]:
        return {"src": x.trace.convert(added(dy, slices), x.dtype)}

    return x.trace.closed({"src": x}, body, rule, composed)


def added(dy: Tensor, slices: Slices) -> Tensor:
    """Return float32 sums of the slices of ``dy`` by their numbers, of the shape of the array."""
    macros = [f"number {_integer(slices.numbers)}", "word uint", "ABSENT 0"]
    if dy.dtype not in DTYPES:
        dy = dy.trace.convert(dy, "float32")
    kernels = Kernels(dy.trace, _SOURCE, dy.dtype, 16, macros)
    m = slices.numbers.size
    outer, n, inner = slices.sizes
    stripes = min(max(inner // _STRIPE, 1), 2 * units(dy))
    width = -(-inner // stripes)
    width += -width % 16
    stripes = -(-inner // width)
    parts = min(max(4 * units(dy) // (outer * stripes), 1), n)
    each = -(-n // parts)
    parts = -(-n // each)
    counts = [n, m, inner, each, parts, width, stripes, slices.left_out, int(slices.wraps)]
    given = {"numbers": dense(slices.numbers), "diff_dst": dense(dy)}
    out = {"diff_src": Out(slices.shape, "float32")}
    n_groups = outer * parts * stripes
    return kernels.record("slices_added", given, out, counts, n_groups)["diff_src"]


def _integer(numbers: Tensor) -> str:
    return "int" if numbers.dtype == "int32" else "long"


def _is_taken(x: Tensor, *counts: int) -> bool:
    mode = x.trace.policy.kernels
    if mode == "never" or x.desc is None or x.dtype not in dtypes.DATA_TYPES:
        return False
    if x.dtype == "float64" or x.dtype in dtypes.PACKED or not all(0 < c < _MOST for c in counts):
        return False  # sums are made in float32
    return mode == "always" or x.trace.engine.kind is _core.engine_kind.cpu
