# SPDX-License-Identifier: Apache-2.0
"""Element-wise primitives of one tensor, or of two that broadcast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import dpnp

from sycl_dnn import _core
from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import OF_DOUBLES, Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    axis_order,
    broadcast_shape,
    expand_rank,
    grid,
    laid_out,
    note_repeated,
    repeated,
    spread,
    untaped,
)

LARGEST = 3.4028234663852886e38
#: The shift of a value that is only scaled: 0.0 would lose the sign of zeros.
NO_SHIFT = -0.0


def is_negative_zero(number: float) -> bool:
    """Whether a number is -0.0, which oneDNN's cache of primitives takes for 0.0 as a factor."""
    return number == 0 and math.copysign(1, number) < 0


# --- Element-wise operations of two tensors that broadcast

A = algorithm
#: The operation with swapped operands, and whether its result changes sign.
_MIRRORED = {
    A.binary_add: (A.binary_add, False),
    A.binary_mul: (A.binary_mul, False),
    A.binary_max: (A.binary_max, False),
    A.binary_min: (A.binary_min, False),
    A.binary_eq: (A.binary_eq, False),
    A.binary_ne: (A.binary_ne, False),
    A.binary_lt: (A.binary_gt, False),
    A.binary_le: (A.binary_ge, False),
    A.binary_gt: (A.binary_lt, False),
    A.binary_ge: (A.binary_le, False),
    A.binary_sub: (A.binary_sub, True),
}
#: Where the second operand has more than size 1, axes merged: the patterns with compiled kernels.
FAST: tuple[list[bool], ...] = (
    [], [True], [False], [False, True], [True, False], [False, True, False], [True, False, True],
)  # fmt: skip


def merged(shape: tuple[int, ...], order: tuple[int, ...], *operands: Tensor) -> list[list]:
    """Return [size, which operands have it] of the axes, adjacent ones of one kind merged."""
    groups: list[list] = []
    for axis in order:
        if shape[axis] == 1:
            continue
        present = tuple(t.shape[axis] != 1 for t in operands)
        if groups and groups[-1][1] == present:
            groups[-1][0] *= shape[axis]
        else:
            groups.append([shape[axis], present])
    return groups


def sizes_of(groups: list[list], operand: int) -> tuple[int, ...]:
    """Return the sizes of an operand in merged axes; fast kernels need at least two axes."""
    sizes = [size if present[operand] else 1 for size, present in groups]
    return (1,) * (3 - len(sizes)) + tuple(sizes)


def fast_grids(
    a: Tensor, b: Tensor, shape: tuple[int, ...], order: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Return two operands over merged axes; the second is spread if no compiled kernel fits."""
    if [p[1] for _, p in merged(shape, order, a, b)] not in FAST:
        b = spread(b, shape, order)
    groups = merged(shape, order, a, b)
    return grid(a, sizes_of(groups, 0)), grid(b, sizes_of(groups, 1))


def _negation() -> PrimitiveAttr:
    attr, ops = PrimitiveAttr(), PostOps()
    ops.append_eltwise(A.eltwise_linear, -1.0, 0.0)
    attr.set_post_ops(ops)
    return attr


@dataclass(frozen=True)
class _Zeros:
    """Zeros of a dtype that oneDNN lacks."""

    shape: tuple[int, ...]
    dtype: str
    takes_queue: ClassVar[bool] = True

    def __call__(self, queue: Any) -> dpnp.ndarray:
        return dpnp.zeros(self.shape, dtype=self.dtype, sycl_queue=queue)


def zeros(trace: Trace, shape: tuple[int, ...], dtype: str) -> Tensor:
    """Return a row-major tensor of zeros."""
    if dtype not in dtypes.DATA_TYPES:
        return trace.array_call(_Zeros(shape, str(dtype)), [], [Out(shape, dtype)])[0]
    tensor = trace.zeros(layout.row_major(shape, dtype), shape)
    return shown(tensor, shape, tuple(range(len(shape))), dtype)


#: Comparisons that are true for NaN on CPUs, and their equivalents for swapped or negated operands.
_TRUE_FOR_NAN = {A.binary_gt: A.binary_lt, A.binary_ge: A.binary_le}


def _computed(kind: algorithm, a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    if kind in _TRUE_FOR_NAN and a.trace.engine.kind is _core.engine_kind.cpu:
        kind = _TRUE_FOR_NAN[kind]
        is_whole = a.shape == b.shape == shape and a.dtype == b.dtype
        a, b = (b, a) if is_whole else (linear_map(a, -1.0), linear_map(b, -1.0))
    like = a if a.shape == shape else b if b.shape == shape else None
    order = axis_order(like, len(shape))
    work_dtype = _computable(a, b, dtype)
    a, b = laid_out(a, order, _first_dtype(a, b, work_dtype)), laid_out(b, order)
    presents = {p for _, p in merged(shape, order, a, b)}
    attr = None
    if (False, True) in presents:
        is_mirrored = kind in _MIRRORED and _MIRRORED[kind][0] not in _TRUE_FOR_NAN
        if is_mirrored and (True, False) not in presents and a.dtype == b.dtype:
            a, b = b, a
            kind, negative = _MIRRORED[kind]
            attr = _negation() if negative else None
        else:
            a = spread(a, shape, order)
    first, second = fast_grids(a, b, shape, order)
    result = _primitive(kind, first, second, Out(first.shape, work_dtype), attr)
    if kind in (A.binary_max, A.binary_min):
        result = _with_nan_of(first, result)
    return shown(a.trace.convert(result, dtype), shape, order, dtype)


def _primitive(
    kind: algorithm, a: Tensor, b: Tensor, out: Out, attr: PrimitiveAttr | None = None
) -> Tensor:
    inputs = {"src_0": a, "src_1": b}
    return a.trace.primitive("binary", inputs, {"dst": out}, attr=attr, algorithm=kind)["dst"]


def _with_nan_of(a: Tensor, extreme: Tensor) -> Tensor:
    """Return an extreme with the NaN of its first operand, which oneDNN drops."""
    is_number = _primitive(A.binary_eq, a, a, Out(a.shape, "int8"))
    inputs = {"src_0": extreme, "src_1": a.trace.convert(a, extreme.dtype), "src_2": is_number}
    out = Out(extreme.shape, extreme.dtype)
    return a.trace.primitive("binary", inputs, {"dst": out}, algorithm=A.binary_select)["dst"]


def _computable(a: Tensor, b: Tensor, dtype: str) -> str:
    """Return the dtype of the result that a compiled kernel has; the rest is a conversion."""
    work = dtypes.promote(a.dtype, b.dtype)
    return work if dtypes.is_float(dtype) and dtypes.promote(work, dtype) != dtype else dtype


def _first_dtype(a: Tensor, b: Tensor, result: str) -> str:
    """Return the dtype that the first operand must have for a compiled kernel."""
    return result if dtypes.is_float(result) else dtypes.promote(a.dtype, b.dtype)


def shown(dense: Tensor, shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> Tensor:
    """Return a dense result in the shape and order of axes that it represents."""
    strides = layout.permuted_strides(shape, order)
    desc = layout.strided(shape, dtype, strides)
    return Tensor(dense.trace, dense.storage, desc, dtype, shape, dense.offset, strides)


def binary(kind: algorithm, a: Tensor, b: Tensor, dtype: str | None = None) -> Tensor:
    """Apply a binary primitive with broadcasting; the layout follows the larger operand.

    The result's ``dtype`` defaults to the one that both are promoted to.
    """
    trace = a.trace
    shape = broadcast_shape(a.shape, b.shape)
    dtype = dtype or dtypes.promote(a.dtype, b.dtype)
    if "float64" in (a.dtype, b.dtype, dtype):
        return OF_DOUBLES["binary"](kind, a, b, dtype)
    a, b = expand_rank(a, len(shape)), expand_rank(b, len(shape))
    with untaped(trace):
        if 0 in shape:
            result = zeros(trace, shape, dtype)
        else:
            result = _computed(kind, _unrepeated(a, b, shape), b, shape, dtype)
    inputs = {"src_0": a, "src_1": b}
    trace.tape.append(Entry("binary", inputs, {"dst": result}, {"algorithm": kind}))
    return result


def _unrepeated(a: Tensor, b: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the elements that ``a`` repeats, if the other operand has the result's shape."""
    source = repeated(a) if b.shape == shape else None
    return a if source is None else expand_rank(source, len(shape))


def add(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of two tensors."""
    return binary(A.binary_add, a, b)


def sub(a: Tensor, b: Tensor) -> Tensor:
    """Return the difference of two tensors."""
    return binary(A.binary_sub, a, b)


def mul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of two tensors, element by element."""
    return binary(A.binary_mul, a, b)


def div(a: Tensor, b: Tensor) -> Tensor:
    """Return the quotient of two tensors, element by element."""
    return binary(A.binary_div, a, b)


def eltwise(x: Tensor, kind: algorithm, alpha: float = 0.0, beta: float = 0.0) -> Tensor:
    """Apply one of oneDNN's element-wise functions, in the layout of ``x``."""
    if x.dtype == "float64":
        return OF_DOUBLES["eltwise"](x, kind, float(alpha), float(beta))
    outputs = x.trace.primitive(
        "eltwise_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, x)},
        ask={"src": x},
        prop_kind=x.trace.forward_kind,
        algorithm=kind,
        alpha=float(alpha),
        beta=float(beta),
    )
    return outputs["dst"]


def linear_map(x: Tensor, scale: float, shift: float = NO_SHIFT) -> Tensor:
    """Return ``scale * x + shift``."""
    return eltwise(x, A.eltwise_linear, scale, shift)


def broadcast_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` repeated along axes of size 1 and new leading ones, as NumPy does."""
    from sycl_dnn.trace.reductions import sum_to

    if x.shape == shape:
        return x
    source = expand_rank(x, len(shape))
    with untaped(x.trace):
        if 0 in shape:
            repeated_source = zeros(x.trace, shape, x.dtype)
        else:
            repeated_source = spread(source, shape, axis_order(source, len(shape)))
            note_repeated(repeated_source, source)
    return x.trace.view(source, repeated_source, partial(sum_to, shape=source.shape))
