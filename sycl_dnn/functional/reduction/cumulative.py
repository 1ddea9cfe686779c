# SPDX-License-Identifier: Apache-2.0
"""``cumsum`` and ``cumprod``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.shape.arrangement import flip
from sycl_dnn.functional.shape.joining import join
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nan_kept
from sycl_dnn.trace.pointwise import mul
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array

_TEXT = """{summary}

Parameters
----------
input : array of any shape and dtype
dim : int
dtype : str or dtype, optional
    The dtype to convert to first; by default int64 for integers and bool.

Returns
-------
array
    Shape of ``input``, row-major.

Raises
------
ValueError
    There is no such axis.

Notes
-----
bfloat16 and float16 are computed in float32. It has derivatives of any order. {more}Source:
``torch.{name}``.
"""
_DIVIDED = """The gradient
is of products of the other elements. torch divides by each: NaN at infinities, and infinity if a
product overflows; so it is after ``set_nan("propagate")``. """


def _converted(name: str, input: Tensor, dim: Any, dtype: Any) -> tuple[Tensor, int, str]:
    axis = check_axis(name, dim, input.ndim)
    kept = input.is_float or str(input.dtype).startswith("complex")
    wanted = str(input.dtype) if kept else "int64"
    wanted = wanted if dtype is None else dtypes.name_of(dtype)
    wide = "float32" if wanted in (*dtypes.CARRIED, "float16") else wanted
    return converted(converted(input, wanted), wide), axis, wanted


def _summed(x: Tensor, axis: int) -> Tensor:
    def call(a: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.cumsum(a, axis=axis, dtype=a.dtype)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": flip(_summed(flip(grads["0"], axis), axis), axis)}

    return x.trace.array_call(call, [x], [Out(x.shape, x.dtype)], rule)[0]


@operation
@templated(_TEXT, more="")
def cumsum(input: dpnp.ndarray | Array, dim: int, *, dtype: Any = None) -> dpnp.ndarray | Array:
    """Return cumulative sums along an axis."""
    x, axis, name = _converted("cumsum", input, dim, dtype)
    return converted(_summed(x, axis) if x.ndim and x.size else x, name)


def _multiplied(x: Tensor, axis: int) -> Tensor:
    """Return cumulative products by doubling, which is differentiable to any order."""
    n, step = x.shape[axis], 1
    while step < n:
        head = narrow(x, axis, 0, step)
        rest = mul(narrow(x, axis, step, n - step), narrow(x, axis, 0, n - step))
        x, step = join([head, rest], axis), 2 * step
    return x


def _slope(x: dpnp.ndarray, dy: dpnp.ndarray, axis: int) -> dpnp.ndarray:
    """Return the gradient of cumprod, correct with zeros: (product before) * (sum from here on).

    The sums ``s[i] = dy[i] + x[i + 1] * s[i + 1]`` are combined by a parallel scan.
    """
    x, dy = (dpnp.moveaxis(a, axis, -1) for a in (x, dy))
    ones = dpnp.ones_like(x[..., :1])
    before = dpnp.cumprod(dpnp.concatenate([ones, x[..., :-1]], axis=-1), axis=-1)
    factors = dpnp.concatenate([x[..., 1:], dpnp.zeros_like(ones)], axis=-1)
    sums, step = dy, 1
    while step < x.shape[-1]:
        more = factors[..., :-step] * sums[..., step:]
        sums = dpnp.concatenate([sums[..., :-step] + more, sums[..., -step:]], axis=-1)
        longer = factors[..., :-step] * factors[..., step:]
        factors = dpnp.concatenate([longer, dpnp.zeros_like(factors[..., -step:])], axis=-1)
        step *= 2
    return dpnp.moveaxis(before * sums, -1, axis)


def _divided_slope(x: dpnp.ndarray, dy: dpnp.ndarray, axis: int) -> dpnp.ndarray:
    """Return the gradient of cumprod with torch's values at infinities; rows with 0 as above."""
    sums = dpnp.flip(dpnp.cumsum(dpnp.flip(dpnp.cumprod(x, axis=axis) * dy, axis), axis=axis), axis)
    has_zero = dpnp.any(x == 0, axis=axis, keepdims=True)
    return dpnp.where(has_zero, _slope(x, dy, axis), sums / x)


@operation
@templated(_TEXT, more=_DIVIDED)
def cumprod(input: dpnp.ndarray | Array, dim: int, *, dtype: Any = None) -> dpnp.ndarray | Array:
    """Return cumulative products along an axis."""
    x, axis, name = _converted("cumprod", input, dim, dtype)
    if not (x.ndim and x.size):
        return converted(x, name)

    def call(a: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.cumprod(a, axis=axis, dtype=a.dtype)

    def value() -> Tensor:
        return x.trace.array_call(call, [x], [Out(x.shape, x.dtype)])[0]

    def rule(dy: Tensor) -> dict[str, Tensor]:
        found = _divided_slope if nan_kept.is_asked_for(x) else _slope

        def slope(a: dpnp.ndarray, g: dpnp.ndarray) -> dpnp.ndarray:
            return dpnp.ascontiguousarray(found(a, g, axis))

        return {"x": x.trace.array_call(slope, [x, dy], [Out(x.shape, x.dtype)])[0]}

    made = x.trace.closed({"x": x}, value, rule, lambda: _multiplied(x, axis))
    return converted(made, name)
