# SPDX-License-Identifier: Apache-2.0
"""Rows written into an array from a slot on as one kernel, in place if the array is given away."""

from __future__ import annotations

import math
from collections.abc import Callable

from sycl_dnn.kernels.launching import Kernels, dense
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Kernels count elements in 32 bits.
_MOST = 1 << 31
#: What is copied, by the bytes of an element.
_WORDS = {1: "uchar", 2: "ushort", 4: "uint"}

#: A program that may write over ``old`` has it and ``new_old`` in one memory: nothing is copied.
_SOURCE = """
void copied(__global const word *p, __global word *q, int n) {
    const int whole = n / V * V;
    for (int i = ITEM * V; i < whole; i += L * V)
        JOIN(vstore, V)(JOIN(vload, V)(0, p + i), 0, q + i);
    for (int i = whole + ITEM; i < n; i += L) q[i] = p[i];
}

__kernel void slots_written(__global const int *first, __global const word *rows,
                            __global const word *old, __global word *new_old, int n, int m,
                            int width) {
    const size_t group = get_group_id(0);
    __global const word *p = old + group * n * width;
    __global word *q = new_old + group * n * width;
    const int start = clamp(*first, 0, n), stop = clamp(*first + m, start, n);
    if (old != new_old) {
        copied(p, q, start * width);
        copied(p + (size_t)stop * width, q + (size_t)stop * width, (n - stop) * width);
    }
    __global const word *r = rows + (group * m + (start - *first)) * width;
    copied(r, q + (size_t)start * width, (stop - start) * width);
}
"""


def written(old: Tensor, rows: Tensor, first: Tensor, composed: Callable[[], Tensor]) -> Tensor:
    """Return an array with rows written from a slot on, by ``composed`` if no kernel is to do it.

    Parameters
    ----------
    old : Tensor (*A, n, width)
    rows : Tensor (*A, m, width)
        Of the same dtype. What would be outside is not written.
    first : Tensor ()
        int32; the slot of the first of them, along the axis before the last.
    composed : callable
        Records the same without a kernel, and has derivatives.
    """
    trace, (n, width), m = old.trace, old.shape[-2:], rows.shape[-2]
    bits = dtypes.bits_of(old.dtype)
    is_sized = 0 < old.size < _MOST and 0 < rows.size < _MOST and bits // 8 in _WORDS
    if trace.training or trace.policy.kernels == "never" or not is_sized:
        return composed()
    kernels = Kernels(trace, _SOURCE, "float32", 16, [f"word {_WORDS[bits // 8]}"])
    if not kernels.can_run("slots_written"):
        return composed()
    given = {"first": dense(first), "rows": dense(rows), "old": dense(old)}
    out = {"new_old": Out(old.shape, old.dtype)}
    n_groups = math.prod(old.shape[:-2])
    return kernels.record("slots_written", given, out, [n, m, width], n_groups)["new_old"]
