# SPDX-License-Identifier: Apache-2.0
"""Copies between layouts whose innermost axes differ: tiles are transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, units
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import cpu_has_avx512
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Elements below which a launch costs more than it saves.
_MIN_ELEMENTS = 1 << 18
#: Elements along both axes of a block that a group copies.
_BLOCK = 64
#: By dtype: bits of an element.
_BITS = {"float32": 32, "int32": 32, "bfloat16": 16, "float16": 16}
_CONVERTED = {("float32", "bfloat16"), ("bfloat16", "float32")}

_SOURCE = """
typedef JOIN(UNIT, V) row;

/* Each round rotates the bits of an element's address, its row and column, by one. */
void turn(row *r) {
#pragma unroll
    for (int n = 1; n < V; n *= 2) {
        row made[V];
#pragma unroll
        for (int i = 0; i < V / 2; ++i) {
            made[2 * i].even = r[i].lo, made[2 * i].odd = r[i + V / 2].lo;
            made[2 * i + 1].even = r[i].hi, made[2 * i + 1].odd = r[i + V / 2].hi;
        }
#pragma unroll
        for (int i = 0; i < V; ++i) r[i] = made[i];
    }
}

ONE_ITEM
__kernel void turned_copy(__global const FROM *x, __global TO *y, int n_rows, int n_columns,
                          int from_step, int to_step, int n_inner, int from_outer, int to_outer,
                          int from_inner, int to_inner, int n_units, int each) {
    const int by_rows = (n_rows + BLOCK - 1) / BLOCK, by_columns = (n_columns + BLOCK - 1) / BLOCK;
    const int first = (int)get_group_id(0) * each, last = min(first + each, n_units);
    for (int unit = first; unit < last; ++unit) {
        const int c0 = unit % by_columns * BLOCK, rest = unit / by_columns;
        const int r0 = rest % by_rows * BLOCK, batch = rest / by_rows;
        const long outer = batch / n_inner, inner = batch % n_inner;
        __global const FROM *p = x + outer * from_outer + inner * from_inner;
        __global TO *q = y + outer * to_outer + inner * to_inner;
        for (int c = c0; c < min(c0 + BLOCK, n_columns); c += V)
            for (int r = r0; r < min(r0 + BLOCK, n_rows); r += V) {
                /* The last tiles overlap those before. */
                const long column = min(c, n_columns - V), at = min(r, n_rows - V);
                row tile[V];
#pragma unroll
                for (int i = 0; i < V; ++i) tile[i] = READ(p + (at + i) * from_step + column);
                turn(tile);
#pragma unroll
                for (int i = 0; i < V; ++i) WRITE(tile[i], q + (column + i) * to_step + at);
            }
    }
}
"""


class Turn(NamedTuple):
    """A copy of matrices: sizes, and strides in elements in the source and in the result."""

    n_rows: int
    n_columns: int
    from_step: int
    to_step: int
    #: (size, stride of the source, stride of the result), outermost first; two.
    batches: tuple[tuple[int, int, int], ...]


def turn_of(src: MemoryDesc, dst: MemoryDesc) -> Turn | None:
    """Return the transposition between two layouts; None if the same axis is innermost."""
    if not (src.is_plain and dst.is_plain):
        return None
    axes = [a for a in zip(src.dims, src.strides, dst.strides, strict=True) if a[0] > 1]
    axes = _merged(sorted(axes, key=lambda a: -a[2]))
    columns = [a for a in axes if a[1] == 1]
    rows = [a for a in axes if a[2] == 1]
    if len(columns) != 1 or len(rows) != 1 or columns == rows or len(axes) > 4:
        return None
    batches = [a for a in axes if a not in (*rows, *columns)]
    batches = [(1, 0, 0)] * (2 - len(batches)) + batches
    (n_rows, from_step, _), (n_columns, _, to_step) = *rows, *columns
    return Turn(n_rows, n_columns, from_step, to_step, tuple(batches))


def _merged(axes: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Merge axes that are contiguous in both layouts."""
    merged: list[tuple[int, int, int]] = []
    for size, a, b in axes:
        if merged and merged[-1][1:] == (a * size, b * size):
            size *= merged.pop()[0]
        merged.append((size, a, b))
    return merged


def turned_copy(tensor: Tensor, desc: MemoryDesc) -> Tensor | None:
    """Return a tensor in another layout, None if no kernel is faster than oneDNN's reorder.

    Parameters
    ----------
    tensor : Tensor
    desc : MemoryDesc
        Of the same shape; of the same dtype, or bfloat16 of float32, or float32 of bfloat16.
    """
    trace, new_dtype = tensor.trace, dtypes.NAMES[desc.data_type]
    dtype = str(tensor.dtype)
    is_supported = (dtype == new_dtype and dtype in _BITS) or (dtype, new_dtype) in _CONVERTED
    is_cpu = trace.engine.kind is _core.engine_kind.cpu
    if not (is_supported and is_cpu and _MIN_ELEMENTS <= tensor.size < MAX_SPAN):
        return None
    vector = 16 if cpu_has_avx512() else 8
    if vector == 16 and _BITS[dtype] == _BITS[new_dtype] == 32:  # oneDNN's is as fast
        return None
    turn = turn_of(tensor.desc, desc)
    if turn is None or min(turn[:2]) < vector:
        return None
    kernels = Kernels(trace, _SOURCE, "bfloat16", vector, _macros(dtype, new_dtype))
    if not kernels.can_run("turned_copy"):
        return None
    (n_outer, *outer), (n_inner, *inner) = turn.batches
    n_units = n_outer * n_inner * -(-turn.n_rows // _BLOCK) * -(-turn.n_columns // _BLOCK)
    share = -(-n_units // (4 * units(tensor)))
    numbers = [*turn[:4], n_inner, *outer, *inner, n_units, share]
    out = {"dst": Out(tensor.shape, new_dtype, desc)}
    return kernels.record("turned_copy", {"src": tensor}, out, numbers, -(-n_units // share))["dst"]


def _macros(dtype: str, new_dtype: str) -> list[str]:
    """Return the macros for two dtypes; elements of the narrower one are transposed."""
    type_read, type_written = (
        f"u{'int' if _BITS[d] == 32 else 'short'}" for d in (dtype, new_dtype)
    )
    read, written = "JOIN(vload, V)(0, p)", "v"
    if _BITS[dtype] > _BITS[new_dtype]:
        read = f"narrow(JOIN(as_float, V)({read}))"
    if _BITS[dtype] < _BITS[new_dtype]:
        written = "JOIN(convert_uint, V)(v) << 16"
    return [
        f"BLOCK {_BLOCK}", f"UNIT {max(type_read, type_written)}", f"FROM {type_read}",
        f"TO {type_written}", f"READ(p) {read}", f"WRITE(v, p) JOIN(vstore, V)({written}, 0, p)",
    ]  # fmt: skip
