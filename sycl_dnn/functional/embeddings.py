# SPDX-License-Identifier: Apache-2.0
"""Rows of a table by number, and numbers as vectors: embedding, one_hot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import shape as nodes
from sycl_dnn.ops.arithmetic import EQ, MAXIMUM, STOP_GRADIENT, cast, where
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.selection import SCATTER_ADD, gathered
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


_INDICES = ("int32", "int64")


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """Record the rows of a table that ``input`` names, and their gradient."""
    numbers, n = reshape(input, (input.size, 1)), weight.shape[0]
    absent = math.nan if dtypes.is_float(str(weight.dtype)) else 0

    def definition(table: Node, index: Node) -> Node:
        rows = gathered(table, index, 0, absent)
        if padding_idx is None:
            return rows
        return where(EQ(index, number(padding_idx, index.dtype)), STOP_GRADIENT(rows), rows)

    def shared(g: Node, index: Node) -> Node:
        """Return the gradient of the table, divided by how often each row is named."""
        wide = dtypes.wide(g.dtype)
        if padding_idx is not None:
            g = where(EQ(index, number(padding_idx, index.dtype)), number(0, g.dtype), g)
        sums = SCATTER_ADD(cast(g, wide), index, axis=0, shape=weight.shape)
        ones = full(1, (input.size, 1), wide)
        counts = SCATTER_ADD(ones, index, axis=0, shape=(n, 1))
        return cast(sums / MAXIMUM(counts, number(1, wide)), weight.dtype)

    parts = in_parts(weight)
    made = parts.joined([computed(definition, part, numbers) for part in parts.tensors])
    if by_frequency:
        made = weight.trace.closed(
            {"weight": weight}, lambda: made, lambda dy: {"weight": computed(shared, dy, numbers)}
        )
    return reshape(made, (*input.shape, weight.shape[1]))


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
            raise ValueError(f"embedding: {argument} must be omitted here, got {value}")


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
        the table holds integers) and add nothing to the gradient. The call does not wait.
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
        ``input`` is not an array of integers, or ``weight`` is of 4-bit numbers.
    ValueError
        ``weight`` is not a table, or ``padding_idx`` is out of range.

    Notes
    -----
    Both directions are generated kernels; the gradient sums in the order of ``input``, so that it
    is the same each time. Source: ``torch.nn.functional.embedding``.
    """
    _check_embedding(input, weight, max_norm=max_norm, sparse=sparse)
    n = weight.shape[0]
    if padding_idx is not None:
        padding_idx = checked_int("embedding", "padding_idx", padding_idx)
        if not -n <= padding_idx < n:
            raise ValueError(f"embedding: padding_idx must be in [{-n}, {n}), got {padding_idx}")
        padding_idx %= n

    return _rows(input, weight, padding_idx, scale_grad_by_freq)


@operation
def _one_hot(input, num_classes):
    if input.dtype not in _INDICES:
        raise TypeError(f"one_hot: input must be int32 or int64, got {input.dtype}")
    if num_classes == -1:
        raise ValueError("one_hot: num_classes must be given inside a traced function, got -1")
    n = checked_int("one_hot", "num_classes", num_classes, 1)

    def encoded(x: Node) -> Node:
        numbers = nodes.reshape(x, (*x.shape, 1))
        return cast(EQ(numbers, iota(n, dtype=x.dtype)), "int64")

    return computed(encoded, input)


def one_hot(input: dpnp.ndarray, num_classes: int = -1) -> dpnp.ndarray:
    """Return a vector of zeros for each number, with a 1 at its place.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Classes, counted from 0.
    num_classes : int
        -1: one more than the largest class. Finding it waits for the device, and is not
        possible inside a trace.

    Returns
    -------
    array (*S, num_classes) of int64
        Only zeros for a number that is not in [0, num_classes).

    Raises
    ------
    TypeError
        ``input`` is not an array of integers.
    ValueError
        ``num_classes`` is neither positive nor -1, or -1 for an empty array.
    """
    if num_classes == -1 and isinstance(input, dpnp.ndarray):
        if not input.size:
            raise ValueError("one_hot: num_classes must be given for an empty array, got -1")
        num_classes = max(int(input.max()) + 1, 1)
    return _one_hot(input, num_classes)
