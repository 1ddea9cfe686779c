# SPDX-License-Identifier: Apache-2.0
"""``embedding``, ``embedding_bag`` and ``one_hot``."""

from __future__ import annotations

import math
from typing import Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import shape as nodes
from sycl_dnn.ops.arithmetic import EQ, GT, MAXIMUM, NE, STOP_GRADIENT, cast, where
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.reduction import MAX
from sycl_dnn.ops.scan import CUMSUM
from sycl_dnn.ops.selection import SCATTER_ADD, gathered, narrow
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

_INDICES = ("int32", "int64")


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """Record a row lookup with its gradient."""
    indices, n = reshape(input, (input.size, 1)), weight.shape[0]
    fill_value = math.nan if dtypes.is_float(str(weight.dtype)) else 0

    def definition(table: Node, index: Node) -> Node:
        rows = gathered(table, index, 0, fill_value)
        if padding_idx is None:
            return rows
        return where(EQ(index, number(padding_idx, index.dtype)), STOP_GRADIENT(rows), rows)

    def averaged_gradient(g: Node, index: Node) -> Node:
        """Return the gradient of the table, divided by the number of lookups of each row."""
        wide = dtypes.wide(g.dtype)
        if padding_idx is not None:
            g = where(EQ(index, number(padding_idx, index.dtype)), number(0, g.dtype), g)
        sums = SCATTER_ADD(cast(g, wide), index, axis=0, shape=weight.shape)
        ones = full(1, (input.size, 1), wide)
        counts = SCATTER_ADD(ones, index, axis=0, shape=(n, 1))
        return cast(sums / MAXIMUM(counts, number(1, wide)), weight.dtype)

    parts = in_parts(weight)
    result = parts.joined([computed(definition, part, indices) for part in parts.tensors])
    if by_frequency:
        result = weight.trace.closed(
            {"weight": weight},
            lambda: result,
            lambda dy: {"weight": computed(averaged_gradient, dy, indices)},
        )
    return reshape(result, (*input.shape, weight.shape[1]))


def _refuse(name: str, **refused: Any) -> None:
    for argument, value in refused.items():
        if value:
            raise ValueError(f"{name}: {argument} must be omitted here, got {value}")


def _check_embedding(input: Tensor, weight: Tensor, **refused: Any) -> None:
    if input.dtype not in _INDICES:
        raise TypeError(f"embedding: input must be int32 or int64, got {input.dtype}")
    check_unpacked("embedding", "weight", weight)
    if weight.ndim != 2:
        raise ValueError(f"embedding: weight must have shape (V, D), got {weight.shape}")
    if input.size and not weight.shape[0]:
        raise ValueError(f"embedding: weight must have a row, got shape {weight.shape}")
    _refuse("embedding", **refused)


@operation
def embedding(
    input: dpnp.ndarray,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of a table by index.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Row indices, 0 to V - 1. Out-of-range ones, including negative ones, give rows of NaN (zeros
        in integer tables) and do not contribute to the gradient. The call does not wait.
    weight : array (V, D) of any dtype
    padding_idx : int, optional
        Row with zero gradient; negative counts from the end.
    scale_grad_by_freq : bool
        Divide the gradient of a row by the number of times it is looked up.
    max_norm, norm_type, sparse
        Only ``max_norm=None`` and ``sparse=False`` are supported: the table is never modified, and
        its gradient is dense.

    Returns
    -------
    array (*S, D)

    Raises
    ------
    TypeError
        ``input`` is not an integer array, or ``weight`` is 4-bit.
    ValueError
        ``weight`` is not a matrix, or ``padding_idx`` is out of range.

    Notes
    -----
    Both directions are generated kernels; the gradient is accumulated in the order of ``input`` and
    is therefore deterministic. Source: ``torch.nn.functional.embedding``.
    """
    _check_embedding(input, weight, max_norm=max_norm, sparse=sparse)
    n = weight.shape[0]
    if padding_idx is not None:
        padding_idx = checked_int("embedding", "padding_idx", padding_idx)
        if not -n <= padding_idx < n:
            raise ValueError(f"embedding: padding_idx must be in [{-n}, {n}), got {padding_idx}")
        padding_idx %= n

    return _rows(input, weight, padding_idx, scale_grad_by_freq)


def _check_bags(
    input: Tensor, offsets: Any, mode: str, per_sample_weights: Any, **refused: Any
) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max', got {mode!r}")
    if input.ndim not in (1, 2):
        raise ValueError(f"embedding_bag: input must have 1 or 2 axes, got shape {input.shape}")
    if (input.ndim == 1) == (offsets is None):
        rule = "be an array for an input of 1 axis" if offsets is None else "be None for 2 axes"
        raise ValueError(f"embedding_bag: offsets must {rule}, got {offsets}")
    if offsets is not None and (offsets.ndim != 1 or offsets.dtype not in _INDICES):
        raise ValueError(
            "embedding_bag: offsets must have 1 axis and be int32 or int64, got shape "
            f"{offsets.shape} of {offsets.dtype}"
        )
    if offsets is not None and mode == "max":
        raise ValueError("embedding_bag: mode must be 'sum' or 'mean' for offsets, got 'max'")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag: mode must be 'sum' for per_sample_weights, got {mode!r}")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights must have input's shape {input.shape}, got "
            f"{per_sample_weights.shape}"
        )
    _refuse("embedding_bag", **refused)


def _numbers_of_bags(offsets: Node, size: int) -> Node:
    """Return the number of the bag of each of ``size`` indices, -1 before the first bag."""
    n = offsets.shape[0]
    begins = SCATTER_ADD(
        full(1, (n, 1), "int64"), nodes.reshape(offsets, (n, 1)), axis=0, shape=(size + 1, 1)
    )
    return narrow(CUMSUM(begins, axis=0, is_reversed=False), 0, 0, size) - number(1, "int64")


@operation
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Reduce bags of rows, which are looked up by index, to their sums, means or maxima.

    Parameters
    ----------
    input : array (B, L) or (N,) of int32 or int64
        Row indices, as in ``embedding``: B bags of L, or all bags one after the other.
    weight : array (V, D) of a floating-point dtype
    offsets : array (B,) of int32 or int64, optional
        Where each bag of an input (N,) begins. Bags may be empty; their result is 0.
    mode : {"mean", "sum", "max"}
        ``"max"`` requires an input (B, L).
    per_sample_weights : array of input's shape, optional
        Factors of the rows; only for sums.
    include_last_offset : bool
        ``offsets`` is (B + 1,): its last entry is the end of the last bag.
    padding_idx : int, optional
        Row that is left out of its bags, and of the numbers by which means are divided.
    max_norm, norm_type, scale_grad_by_freq, sparse
        Only ``max_norm=None``, ``scale_grad_by_freq=False`` and ``sparse=False`` are supported.

    Returns
    -------
    array (B, D)

    Raises
    ------
    TypeError
        ``input`` is not an integer array, or ``weight`` not a floating-point one.
    ValueError
        The shapes or options do not match.

    Notes
    -----
    Source: ``torch.nn.functional.embedding_bag``.
    """
    _check_bags(
        input, offsets, mode, per_sample_weights,
        max_norm=max_norm, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
    )  # fmt: skip
    if not weight.is_float:
        raise TypeError(
            f"embedding_bag: weight must have a floating-point dtype, got {weight.dtype}"
        )
    rows = embedding(input, weight, padding_idx)
    padding = None if padding_idx is None else padding_idx % weight.shape[0]

    def reduced(rows: Node, index: Node, *others: Node) -> Node:
        wide = dtypes.wide(rows.dtype)
        counts = full(1, index.shape, wide)
        if padding is not None:
            counts = cast(NE(index, number(padding, index.dtype)), wide)
        counts = nodes.reshape(counts, (*index.shape, 1))
        if per_sample_weights is not None:
            rows = rows * nodes.reshape(others[-1], (*index.shape, 1))
        empty = number(-math.inf if mode == "max" else 0, wide)
        rows = where(GT(counts, number(0, wide)), cast(rows, wide), empty)
        if mode == "max":
            values = MAX(rows, axes=(1,))
            return cast(where(EQ(values, empty), number(0, wide), values), weight.dtype)
        if offsets is None:
            sums, n_rows = (SUM(a, axes=(1,)) for a in (rows, counts))
        else:
            bags = _numbers_of_bags(others[0], index.shape[0])
            n_bags = others[0].shape[0] - include_last_offset
            sums, n_rows = (
                SCATTER_ADD(a, bags, axis=0, shape=(n_bags, a.shape[-1])) for a in (rows, counts)
            )
        if mode == "mean":
            sums = sums / MAXIMUM(n_rows, number(1, wide))
        return cast(sums, weight.dtype)

    operands = [a for a in (offsets, per_sample_weights) if a is not None]
    result = computed(reduced, rows, input, *operands)
    return reshape(result, (result.shape[0], weight.shape[1]))


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
    """Return one-hot vectors of class indices.

    Parameters
    ----------
    input : array (*S) of int32 or int64
        Class indices, starting at 0.
    num_classes : int
        -1: one more than the largest class. Finding it waits for the device, which is impossible in
        a trace.

    Returns
    -------
    array (*S, num_classes) of int64
        All zeros for an index outside [0, num_classes).

    Raises
    ------
    TypeError
        ``input`` is not an integer array.
    ValueError
        ``num_classes`` is neither positive nor -1, or is -1 for an empty array.
    """
    if num_classes == -1 and isinstance(input, dpnp.ndarray):
        if not input.size:
            raise ValueError("one_hot: num_classes must be given for an empty array, got -1")
        num_classes = max(int(input.max()) + 1, 1)
    return _one_hot(input, num_classes)
