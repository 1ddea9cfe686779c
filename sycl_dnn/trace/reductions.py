# SPDX-License-Identifier: Apache-2.0
"""Reductions over any axes; on a CPU oneDNN's compiled one supports the innermost only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dpnp

from sycl_dnn._core import PrimitiveAttr, algorithm, engine_kind, fpmath_mode, prop_kind
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout, nan_in_rows
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.pointwise import (
    binary,
    broadcast_to,
    div,
    linear_map,
    mul,
    shown,
    zeros,
)
from sycl_dnn.trace.recording import OF_DOUBLES, Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, filled, grid, laid_out, narrow, reshape, untaped

A = algorithm
_SUMS = (A.reduction_sum, A.reduction_mean)
_EXTREMES = (A.reduction_max, A.reduction_min)
_OF_NOTHING = {A.reduction_sum: 0.0, A.reduction_mul: 1.0, A.reduction_mean: math.nan}
#: Sums remain in float32 regardless of oneDNN's default math mode.
_EXACT = PrimitiveAttr()
_EXACT.set_fpmath_mode(fpmath_mode.strict)


def _rows(kind: algorithm, x: Tensor, dtype: str) -> Tensor:
    """Reduce (M, R) to (M, 1)."""
    made = x.trace.primitive(
        "reduction", {"src": x}, {"dst": Out((x.shape[0], 1), dtype)}, algorithm=kind
    )
    return made["dst"]


def _column_sums(x: Tensor, dtype: str) -> Tensor:
    """Sum (K, R, L) to (K, 1, L) as a product with ones."""
    ones = filled(x.trace, 1.0, (1, 1, x.shape[1]), x.dtype)
    # A product of float32 has no compiled kernel for a narrower result.
    dtype = x.dtype if x.dtype == "float32" else dtype
    out = Out((x.shape[0], 1, x.shape[2]), dtype)
    made = x.trace.primitive("matmul", {"src": ones, "weights": x}, {"dst": out}, attr=_EXACT)
    return made["dst"]


def _column_maxima(x: Tensor) -> Tensor:
    """Return the maxima of (K, R, L) over R as a pooling window over channels-last pixels."""
    n, width, channels = x.shape
    src = x.view((n, channels, width), (width * channels, 1, channels))
    dst = layout.strided((n, channels, 1), x.dtype, (channels, 1, channels))
    made = x.trace.primitive(
        "pooling_forward",
        {"src": src},
        {"dst": Out((n, channels, 1), x.dtype, dst)},
        prop_kind=prop_kind.forward_inference,
        algorithm=A.pooling_max,
        strides=(1,),
        kernel=(width,),
        padding_l=(0,),
        padding_r=(0,),
    )
    return grid(made["dst"], (n, 1, channels))


def _columns(kind: algorithm, x: Tensor, dtype: str) -> Tensor:
    """Reduce (K, R, L) to (K, 1, L)."""
    if x.trace.engine.kind is not engine_kind.cpu:
        out = Out((x.shape[0], 1, x.shape[2]), dtype)
        return x.trace.primitive("reduction", {"src": x}, {"dst": out}, algorithm=kind)["dst"]
    if kind is A.reduction_sum:
        return _column_sums(x, dtype)
    if kind is A.reduction_max:
        return _column_maxima(x)
    if kind is A.reduction_min:
        return linear_map(_column_maxima(linear_map(x, -1.0)), -1.0)
    turned = laid_out(x, (0, 2, 1))
    rows = _rows(kind, grid(turned, (x.shape[0] * x.shape[2], x.shape[1])), dtype)
    return grid(rows, (x.shape[0], 1, x.shape[2]))


def _merged(shape: Sequence[int], order: Sequence[int], axes: Sequence[int]) -> list[list]:
    """Return [size, whether it is reduced] of the axes, adjacent ones of one kind merged."""
    groups: list[list] = []
    for axis in order:
        if shape[axis] == 1:
            continue
        if groups and groups[-1][1] == (axis in axes):
            groups[-1][0] *= shape[axis]
        else:
            groups.append([shape[axis], axis in axes])
    return groups


def _reduced(kind: algorithm, x: Tensor, axes: Sequence[int], dtype: str) -> Tensor:
    """Reduce one merged group of axes after the other, the innermost first."""
    order = axis_order(x, x.ndim)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    groups = _merged(x.shape, order, axes)
    is_direct = [g[1] for g in groups] in ([True], [False, True])
    is_scaled = kind is A.reduction_mean and not is_direct
    kind = A.reduction_sum if is_scaled else kind
    made = laid_out(x, order)
    while any(reduced for _, reduced in groups):
        at = max(i for i, g in enumerate(groups) if g[1])
        before = math.prod(g[0] for g in groups[:at])
        after = math.prod(g[0] for g in groups[at + 1 :])
        is_last = sum(g[1] for g in groups) == 1
        step = dtype if is_last and not is_scaled else _between(kind, made.dtype)
        if at == len(groups) - 1:
            made = _rows(kind, grid(made, (before, groups[at][0])), step)
        else:
            made = _columns(kind, grid(made, (before, groups[at][0], after)), step)
        del groups[at]
    if is_scaled:
        made = linear_map(made, math.prod(shape) / x.size)
    return shown(x.trace.convert(made, dtype), shape, order, dtype)


def _between(kind: algorithm, have: str) -> str:
    """Return the dtype of partial results: sums keep float32."""
    narrow = have in ("bfloat16", "float16")
    return "float32" if narrow and kind in _SUMS else have


def reduce(
    kind: algorithm, x: Tensor, axes: Sequence[int], dtype: str | None = None, *,
    keeps_nan: bool = False,
) -> Tensor:  # fmt: skip
    """Reduce over ``axes``, which remain with size 1.

    ``kind`` is one of oneDNN's sum, mean, max, min and mul. Maxima over no elements raise
    ValueError. With ``keeps_nan`` they are NaN where an element is.
    """
    trace, dtype = x.trace, dtype or x.dtype
    axes = tuple(a % max(x.ndim, 1) for a in axes)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    if shape == x.shape and x.size:
        return trace.convert(x, dtype)
    if "float64" in (x.dtype, dtype) and x.size:
        if kind is A.reduction_mul:
            return trace.convert(_product_of_all(trace.convert(x, "float64"), axes), dtype)
        return OF_DOUBLES["reduce"](kind, x, axes, dtype)
    with untaped(trace):
        if 0 in shape:
            made = zeros(trace, shape, dtype)
        elif not x.size:
            if kind not in _OF_NOTHING:
                raise ValueError(f"{kind.name}: an axis must not be empty, got shape {x.shape}")
            made = linear_map(zeros(trace, shape, dtype), 0.0, _OF_NOTHING[kind])
        else:
            made = _reduced(kind, x, axes, dtype)
            keeps_nan = keeps_nan or trace.policy.nan == "propagate"
            if kind in _EXTREMES and x.is_float and keeps_nan:
                made = nan_in_rows.extreme(kind, x, made, axes, _reduced_marks)
    params = {"algorithm": kind, "axes": axes}
    entry = Entry("reduction", {"src": x}, {"dst": made}, params)
    if kind is A.reduction_mul and x.size:
        entry.composed = lambda: x.trace.convert(_product_of_all(x, axes), dtype)
    trace.tape.append(entry)
    return made


def _reduced_marks(kind: algorithm, x: Tensor, axes: Sequence[int]) -> Tensor:
    return _reduced(kind, x, axes, x.dtype)


def _product_of_all(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the products over axes, half by half."""
    for axis in axes:
        odd: list[Tensor] = []
        while (n := x.shape[axis]) > 1:
            if n % 2:
                odd.append(narrow(x, axis, n - 1, 1))
            x = mul(narrow(x, axis, 0, n // 2), narrow(x, axis, n // 2, n // 2))
        for rest in odd:
            x = mul(x, rest)
    return x


def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` summed over the axes along which ``shape`` was broadcast to it."""
    padded = (1,) * (x.ndim - len(shape)) + shape
    axes = [i for i, (n, m) in enumerate(zip(x.shape, padded, strict=True)) if n != m]
    return reshape(reduce(A.reduction_sum, x, axes) if axes else x, shape)


@rule_for("reduction")
def _gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    x, y, dy = entry.inputs["src"], entry.outputs["dst"], grads["dst"]
    kind = entry.params["algorithm"]
    dy = trace.convert(dy, x.dtype)
    if kind in _SUMS:
        n = x.size / max(y.size, 1)
        share = linear_map(dy, 1.0 / max(n, 1)) if kind is A.reduction_mean else dy
        return {"src": broadcast_to(share, x.shape)}
    if kind in _EXTREMES:
        # Tied elements share evenly, as in torch.amax.
        hits = binary(A.binary_eq, x, y, x.dtype)
        count = reduce(A.reduction_sum, hits, entry.params["axes"])
        return {"src": mul(hits, div(dy, count))}
    return {"src": mul(_others(trace, x, entry.params["axes"]), dy)}


def _others(trace: Trace, x: Tensor, axes: Sequence[int]) -> Tensor:
    wide = trace.convert(x, "float32") if x.dtype in dtypes.CARRIED else x
    out = [Out(x.shape, wide.dtype)]
    made = trace.array_call(lambda v: _products_of_others(v, axes), [wide], out)[0]
    return trace.convert(made, x.dtype)


def _products_of_others(x: dpnp.ndarray, axes: Sequence[int]) -> dpnp.ndarray:
    """Return for each element the product of the others, correct with zeros among them."""
    kept = [i for i in range(x.ndim) if i not in axes]
    order = [*kept, *axes]
    turned = dpnp.transpose(x, order)
    sizes = [math.prod(x.shape[i] for i in some) for some in (kept, axes)]
    rows = dpnp.reshape(turned, sizes)
    ones = dpnp.ones_like(rows[:, :1])
    before = dpnp.cumprod(dpnp.concatenate([ones, rows[:, :-1]], axis=1), axis=1)
    after = dpnp.cumprod(dpnp.concatenate([ones, rows[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    made = dpnp.reshape(before * after, turned.shape)
    return dpnp.transpose(made, [order.index(i) for i in range(x.ndim)])
