# SPDX-License-Identifier: Apache-2.0
"""Rows of a table by number, and numbers as vectors: embedding, one_hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.index.row_sums import Sorted, row_sums, rows_by_number
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


_INDICES = ("int32", "int64")


def _gradient(
    input: Tensor, weight: Tensor, grad: Tensor, padding_idx: int | None, by_frequency: bool
) -> Tensor:
    """Return the gradient of the table: rows of ``grad`` summed by their number."""
    trace, (n, width), m = weight.trace, weight.shape, input.size
    if not (m and weight.size):
        return trace.zeros(weight.desc, weight.shape)
    wide = grad.dtype if grad.dtype in ("float32", "float64") else "float32"
    sums = row_sums(trace.engine, n, m, width, wide)

    def scattered(indices: dpnp.ndarray, dy: dpnp.ndarray) -> dpnp.ndarray:
        found = Sorted(indices.ravel(), n, padding_idx)
        made = sums(found, dy.reshape(m, width))
        return made / dpnp.maximum(found.counts(), 1)[:, None] if by_frequency else made

    def looked_up(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"1": _rows(input, grads["0"], None, False)}

    # What is left out or scaled has no second derivative.
    rule = None if by_frequency or padding_idx is not None else looked_up
    made = trace.array_call(
        scattered, [input, trace.convert(grad, wide)], [Out(weight.shape, wide)], rule
    )[0]
    return trace.convert(made, weight.dtype)


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """Record the rows of a table that ``input`` names, and their gradient."""

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"1": _gradient(input, weight, grads["0"], padding_idx, by_frequency)}

    out = Out((*input.shape, weight.shape[1]), weight.dtype)
    call = _looked_up(input.trace.engine, input.size, weight, out)
    return input.trace.array_call(call, [input, weight], [out], rule)[0]


def _check_embedding(input: Tensor, weight: Tensor, **refused: Any) -> None:
    if input.dtype not in _INDICES:
        raise TypeError(f"embedding: input must be int32 or int64, got {input.dtype}")
    check_unpacked("embedding", "weight", weight)
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must have shape (V, D), got {weight.shape}")
    if input.size and not weight.shape[0]:
        raise ValueError(f"embedding: weight must have a row, got shape {weight.shape}")
    for argument, value in refused.items():
        if value:
            raise ValueError(f"embedding: {argument} must be left away here, got {value}")


@operation
def embedding(
    input: dpnp.ndarray,
    weight: dpnp.ndarray | Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> dpnp.ndarray | Array:
    """Look up rows of a table.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Numbers of rows, 0 to V - 1. Others, negative ones too, give rows of NaN (of zeros where
        the table holds integers) and add nothing to the gradient; the device is not waited for.
    weight : array (V, D) of any dtype
    padding_idx : int, optional
        Row whose gradient is 0; negative counts from the end.
    scale_grad_by_freq : bool
        Divide the gradient of a row by how often it is looked up.
    max_norm, norm_type, sparse
        Only ``max_norm=None`` and ``sparse=False``: the table is never written to, and its
        gradient is dense.

    Returns
    -------
    array (*S, D)

    Raises
    ------
    TypeError
        ``input`` is no array of integers, or ``weight`` is of 4-bit numbers.
    ValueError
        ``weight`` is no table, or ``padding_idx`` is out of range.

    Notes
    -----
    On CPUs float32 tables are multiplied by a sparse matrix of ones, as the gradient is; else both
    are dpnp's work.

    Source: oneDNN developer guide, "Matrix Multiplication", sparse (CSR) source.
    """
    _check_embedding(input, weight, max_norm=max_norm, sparse=sparse)
    n = weight.shape[0]
    if padding_idx is not None:
        padding_idx = checked_int("embedding", "padding_idx", padding_idx)
        if not -n <= padding_idx < n:
            raise ValueError(f"embedding: padding_idx must be in [{-n}, {n}), got {padding_idx}")
        padding_idx %= n

    return _rows(input, weight, padding_idx, scale_grad_by_freq)


def _looked_up(engine: Any, m: int, weight: Tensor, out: Out) -> Callable[..., dpnp.ndarray]:
    n, width = weight.shape
    if not (m and width):
        return lambda indices, table: dpnp.empty(
            out.shape, dtype=table.dtype, sycl_queue=table.sycl_queue
        )
    rows = rows_by_number(engine, n, m, width, weight.dtype)

    def looked_up(indices: dpnp.ndarray, table: dpnp.ndarray) -> dpnp.ndarray:
        return rows(indices.ravel(), table).reshape(out.shape)

    return looked_up


@operation
def _one_hot(input, num_classes):
    if input.dtype not in _INDICES:
        raise TypeError(f"one_hot: input must be int32 or int64, got {input.dtype}")
    if num_classes == -1:
        raise ValueError("one_hot: num_classes must be given inside a traced function, got -1")
    n = checked_int("one_hot", "num_classes", num_classes, 1)

    def encoded(indices: dpnp.ndarray) -> dpnp.ndarray:
        classes = dpnp.arange(n, sycl_queue=indices.sycl_queue)
        return (indices[..., None] == classes).astype("int64")

    return input.trace.array_call(encoded, [input], [Out((*input.shape, n), "int64")])[0]


def one_hot(input: dpnp.ndarray, num_classes: int = -1) -> dpnp.ndarray:
    """Return a vector of zeros for each number, with a 1 at its place.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Classes, counted from 0.
    num_classes : int
        -1: one more than the largest class. Looking that up waits for the device, and is not
        possible inside a trace.

    Returns
    -------
    array (*S, num_classes) of int64
        Nothing but zeros for a number that is not in [0, num_classes).

    Raises
    ------
    TypeError
        ``input`` is no array of integers.
    ValueError
        ``num_classes`` is neither positive nor -1, or -1 for an empty array.
    """
    if num_classes == -1 and isinstance(input, dpnp.ndarray):
        if not input.size:
            raise ValueError("one_hot: num_classes must be given for an empty array, got -1")
        num_classes = max(int(input.max()) + 1, 1)
    return _one_hot(input, num_classes)
