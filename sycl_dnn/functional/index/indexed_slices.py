# SPDX-License-Identifier: Apache-2.0
"""Reads and writes by flat indices, masks and slices: take, masked_scatter, index_copy, ..."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.comparison import where
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.index.gathering import check_index, index_select, values_like
from sycl_dnn.functional.index.selected import wrapped, written
from sycl_dnn.functional.reduction.cumulative import cumsum
from sycl_dnn.functional.shape.arrangement import spread
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, reshape

if TYPE_CHECKING:
    import dpnp

_INDEX = f"The host does not read the index: entries out of range are ignored. {SMOOTH}"
_WORDS = {
    "returns": "array\n    Shape and dtype of ``input``, which is not written to.", "notes": _INDEX,
    "types": "``index`` is not an integer array, or the values have another dtype.",
    "errors": "The shapes do not match.",
}  # fmt: skip


def _of_slices(
    name: str, x: Tensor, dim: Any, index: Any, *, wraps: bool = False
) -> tuple[int, Tensor]:
    """Return the axis of ``x``, which has axes, and an index along it of one element elsewhere."""
    index, axis = check_index(name, "index", index), check_axis(name, dim, x.ndim)
    if index.ndim > 1:
        raise ValueError(f"{name}: index must have at most one axis, got shape {index.shape}")
    if wraps:
        index = computed(lambda i: wrapped(i, x.shape[axis]), index)
    return axis, reshape(index, [index.size if a == axis else 1 for a in range(x.ndim)])


def _with_axis(x: Tensor) -> Tensor:
    return x if x.ndim else reshape(x, (1,))


def _written(
    name: str, input: Tensor, axis: int, index: Tensor, source: Any, *, is_added: bool = False
) -> Tensor:
    x = _with_axis(input)
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    values = _with_axis(values_like(name, "source", x, source, shape))
    if values.shape != shape:
        raise ValueError(
            f"{name}: source must have shape {shape} for the index, got {values.shape}"
        )
    if not (values.size and x.size):
        return input
    return reshape(written(x, values, index, axis, is_added=is_added), input.shape)


@operation
@described_as_torch(**_WORDS)
def index_add(
    input: Tensor, dim: int, index: dpnp.ndarray, source: Tensor,
    *, alpha: float = 1,
) -> Tensor:  # fmt: skip
    """Add slices along an axis by index: ``out[:, index[j]] += alpha * source[:, j]``.

    input : array (*A, n, *B)
        Any dtype.
    dim : int
    index : array (m,) of int32 or int64
    source : array (*A, m, *B)
        Same dtype as ``input``, not bool.
    alpha : number
        Scale factor.
    """
    if input.dtype == "bool":
        raise TypeError("index_add: input must not be bool")
    check_arrays("index_add", source=source)
    axis, place = _of_slices("index_add", _with_axis(input), dim, index)
    scaled = source if alpha == 1 else mul(source, alpha)
    return _written("index_add", input, axis, place, scaled, is_added=True)


@operation
@described_as_torch(**_WORDS)
def index_copy(input: Tensor, dim: int, index: dpnp.ndarray, source: Tensor) -> Tensor:
    """Write slices along an axis by index: ``out[:, index[j]] = source[:, j]``.

    input : array (*A, n, *B)
        Any dtype.
    dim : int
    index : array (m,) of int32 or int64
        Of equal entries, one is kept, and has the gradient.
    source : array (*A, m, *B)
        Same dtype as ``input``.
    """
    check_arrays("index_copy", source=source)
    axis, place = _of_slices("index_copy", _with_axis(input), dim, index)
    return _written("index_copy", input, axis, place, source)


@operation
@described_as_torch(**_WORDS)
def index_fill(input: Tensor, dim: int, index: dpnp.ndarray, value: Tensor | float) -> Tensor:
    """Write a value along an axis at indices: ``out[:, index[j]] = value``.

    input : array (*A, n, *B)
        Any dtype.
    dim : int
    index : array (m,) of int32 or int64
        Negative indices count from the end.
    value : number, or array without axes
    """
    axis, place = _of_slices("index_fill", _with_axis(input), dim, index, wraps=True)
    if not isinstance(value, Tensor):
        return _written("index_fill", input, axis, place, value)
    if value.ndim:
        raise ValueError(f"index_fill: value must have no axes, got shape {value.shape}")
    # Read once by each element, however often its index occurs: so are its derivatives.
    is_filled = _written("index_fill", zeros(input.trace, input.shape, "bool"), axis, place, True)
    return where(is_filled, input.trace.convert(value, str(input.dtype)), input)


@operation
@described_as_torch(
    returns="array\n    Shape of ``index``, dtype of ``input``.",
    errors="``input`` is empty.",
    types="``index`` is not an integer array.",
    notes="The host does not read the index: out-of-range entries give NaN, or 0 for integers.\n"
    f"{SMOOTH}",
)  # fmt: skip
def take(input: Tensor, index: dpnp.ndarray) -> Tensor:
    """Return the elements of the flattened array at flat indices.

    input : array (*A, n, *B)
        Any dtype.
    index : array of int32 or int64
        Negative indices count from the end.
    """
    index = check_index("take", "index", index)
    if index.size and not input.size:
        raise ValueError(f"take: input must have elements to choose, got shape {input.shape}")
    flat = index_select(reshape(input, (input.size,)), 0, reshape(index, (index.size,)))
    return reshape(flat, index.shape)


@operation
@described_as_torch(
    returns="array\n    The broadcast shape, dtype of ``input``.",
    errors="The shapes do not match.",
    types="``mask`` is not bool, or ``source`` has another dtype.",
    notes="Where ``source`` has too few elements, the result is NaN, or 0 for integers.\n"
    f"{SMOOTH}",
)  # fmt: skip
def masked_scatter(input: Tensor, mask: dpnp.ndarray, source: Tensor) -> Tensor:
    """Write the elements of an array, in order, where a mask is true.

    input : array (*A, n, *B)
        Any dtype.
    mask : array of bool
        Broadcasts with ``input``.
    source : array
        Same dtype as ``input``.
    """
    name = "masked_scatter"
    check_arrays(name, mask=mask, source=source)
    if mask.dtype != "bool":
        raise TypeError(f"{name}: mask must have dtype bool, got {mask.dtype}")
    if source.dtype != input.dtype:
        raise TypeError(f"{name}: source must have dtype {input.dtype}, got {source.dtype}")
    try:
        shape = broadcast_shape(input.shape, mask.shape)
    except ValueError:
        shapes = f"{input.shape} and {mask.shape}"
        raise ValueError(f"{name}: mask must broadcast with input, got shapes {shapes}") from None
    x, chosen = spread(input, shape), spread(mask, shape)
    if not math.prod(shape) or not source.size:
        return x
    places = computed(lambda n: n - 1, cumsum(reshape(chosen, (chosen.size,)), 0))
    return where(chosen, reshape(take(source, places), shape), x)


# --- Slices known while tracing


def _replaced(name: str, x: Tensor, src: Any, axis: int, places: range, shape: Any) -> Tensor:
    """Return ``x`` with values at ``places`` along an axis; ``shape`` is theirs in ``src``."""
    check_arrays(name, src=src)
    if src.shape != shape:
        raise ValueError(f"{name}: src must have shape {shape}, got {src.shape}")
    if src.dtype != x.dtype:
        raise TypeError(f"{name}: src must have dtype {x.dtype}, got {src.dtype}")
    if not src.size:
        return x
    aligned = [len(places) if a == axis else 1 for a in range(x.ndim)]
    index = x.trace.literal(np.asarray(places).reshape(aligned), "int64")
    values = reshape(src, (*x.shape[:axis], len(places), *x.shape[axis + 1 :]))
    return written(x, values, index, axis)


_KNOWN = _WORDS | {"types": "``src`` has another dtype.", "notes": SMOOTH}


@operation
@described_as_torch(**_KNOWN)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    """Replace a slice along an axis: ``out[:, start:end:step] = src``.

    input : array (*A, n, *B)
        Any dtype.
    src : array
        Same dtype, and the shape of the slice.
    dim : int
    start, end, step : int
        As in Python; ``step`` is positive.
    """
    name = "slice_scatter"
    axis, step = check_axis(name, dim, input.ndim), checked_int(name, "step", step, 1)
    places = range(*slice(start, end, step).indices(input.shape[axis]))
    shape = (*input.shape[:axis], len(places), *input.shape[axis + 1 :])
    return _replaced(name, input, src, axis, places, shape)


@operation
@described_as_torch(**_KNOWN)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Replace one slice along an axis: ``out[:, index] = src``.

    input : array (*A, n, *B)
        Any dtype.
    src : array (*A, *B)
        Same dtype.
    dim : int
    index : int
        Negative counts from the end.
    """
    name = "select_scatter"
    axis = check_axis(name, dim, input.ndim)
    n = input.shape[axis]
    at = checked_int(name, "index", index, -n)
    if at >= n:
        raise ValueError(f"{name}: index must be in [{-n}, {n - 1}], got {index}")
    shape = (*input.shape[:axis], *input.shape[axis + 1 :])
    return _replaced(name, input, src, axis, range(at % n, at % n + 1), shape)
