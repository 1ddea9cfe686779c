# SPDX-License-Identifier: Apache-2.0
"""Element-wise primitives of one tensor, or of two that broadcast."""

from __future__ import annotations

import math
from functools import partial

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions, layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import sum_to
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

#: The shift of a value that is only scaled: 0.0 would lose the sign of zeros.
NO_SHIFT = -0.0


def is_negative_zero(number: float) -> bool:
    """Whether a number is -0.0, which oneDNN's cache of primitives takes for 0.0 as a factor."""
    return number == 0 and math.copysign(1, number) < 0


# --- Element-wise operations of two tensors that broadcast

A = algorithm
#: Operations whose operands can be exchanged; the result of the last changes its sign.
_MIRRORED = (A.binary_add, A.binary_mul, A.binary_sub)
#: Patterns with compiled kernels: whether the second operand has each of the merged axes.
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


def _negation() -> PrimitiveAttr:
    attr, ops = PrimitiveAttr(), PostOps()
    ops.append_eltwise(A.eltwise_linear, -1.0, 0.0)
    attr.set_post_ops(ops)
    return attr


def zeros(trace: Trace, shape: tuple[int, ...], dtype: str) -> Tensor:
    """Return a row-major tensor of zeros."""
    tensor = trace.zeros(layout.row_major(shape, dtype), shape, dtype)
    return shown(tensor, shape, tuple(range(len(shape))), dtype)


def _computed(kind: algorithm, a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    like = a if a.shape == shape else b if b.shape == shape else None
    order = axis_order(like, len(shape))
    work_dtype = _computable(a, b, dtype)
    a, b = laid_out(a, order, work_dtype), laid_out(b, order)
    presents = {p for _, p in merged(shape, order, a, b)}
    attr = None
    if (False, True) in presents:
        if kind in _MIRRORED and (True, False) not in presents and a.dtype == b.dtype:
            a, b = b, a
            attr = _negation() if kind is A.binary_sub else None
        else:
            a = spread(a, shape, order)
    if [p[1] for _, p in merged(shape, order, a, b)] not in FAST:
        b = spread(b, shape, order)
    groups = merged(shape, order, a, b)
    first, second = (grid(x, sizes_of(groups, i)) for i, x in enumerate((a, b)))
    inputs, outs = {"src_0": first, "src_1": second}, {"dst": Out(first.shape, work_dtype)}
    result = a.trace.primitive("binary", inputs, outs, attr=attr, algorithm=kind)["dst"]
    return shown(a.trace.convert(result, dtype), shape, order, dtype)


def _computable(a: Tensor, b: Tensor, dtype: str) -> str:
    """Return the dtype of the result that a compiled kernel has; the rest is a conversion."""
    work = dtypes.promote(a.dtype, b.dtype)
    return work if dtypes.promote(work, dtype) != dtype else dtype


def shown(dense: Tensor, shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> Tensor:
    """Return a dense result in the shape and order of axes that it represents."""
    strides = layout.permuted_strides(shape, order)
    desc = layout.strided(shape, dtype, strides)
    return Tensor(dense.trace, dense.storage, desc, dtype, shape, dense.offset, strides)


def binary(kind: algorithm, a: Tensor, b: Tensor, dtype: str | None = None) -> Tensor:
    """Return the sum, difference, product or quotient of tensors that broadcast.

    The layout follows the larger operand.

    The result's ``dtype`` defaults to the one that both are promoted to.
    """
    trace = a.trace
    shape = broadcast_shape(a.shape, b.shape)
    dtype = dtype or dtypes.promote(a.dtype, b.dtype)
    if dtypes.is_complex(dtype):
        return functions.complex_pair(kind, a, b, dtype)  # type: ignore[no-any-return]
    if not trace.is_compiled or "float64" in (a.dtype, b.dtype, dtype):
        return functions.pair_kernel(kind, a, b, dtype)  # type: ignore[no-any-return]
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
    is_lone_map = kind is A.eltwise_linear and not x.trace.is_compiled
    if is_lone_map or x.dtype == "float64":
        return functions.eltwise_kernel(x, kind, float(alpha), float(beta))  # type: ignore[no-any-return]
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
