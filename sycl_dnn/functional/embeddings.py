# SPDX-License-Identifier: Apache-2.0
"""``embedding``, ``embedding_bag`` and ``one_hot``."""

from __future__ import annotations

import math
from typing import Any

import dpnp

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.comparison import ne
from sycl_dnn.functional.arithmetic.comparison import where as elements
from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.functional.arithmetic.elementwise import check_same_dtype, check_same_shape
from sycl_dnn.functional.arithmetic.operands import check_unpacked
from sycl_dnn.functional.reduction.extremes import any as any_of
from sycl_dnn.functional.reduction.extremes import max as largest
from sycl_dnn.functional.shape.reshaping import checked_int, unsqueeze
from sycl_dnn.ir.node import Node, Operation, number
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import shape as nodes
from sycl_dnn.ops.arithmetic import (
    EQ,
    LOGICAL_OR,
    MAXIMUM,
    NE,
    STOP_GRADIENT,
    cast,
    where,
)
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.scan import CUMSUM
from sycl_dnn.ops.selection import SCATTER_ADD, SCATTER_MAX, SCATTER_MIN, gathered, narrow
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

_INDICES = ("int32", "int64")
_of_first = lambda inputs: (inputs[0].shape, inputs[0].dtype)  # noqa: E731
#: Averages of a gradient, whose derivative is that of the sums, as in torch: values know no counts.
_AVERAGES: Operation = Operation(
    "averages", _of_first, lambda node, g: [_SUMMANDS(g, node.inputs[1]), None],
    definition=lambda sums, counts: sums / counts,
)  # fmt: skip
#: That derivative: a tangent as it is, whose gradient is averaged again.
_SUMMANDS: Operation = Operation(
    "summands", _of_first, lambda node, g: [_AVERAGES(g, node.inputs[1]), None],
    definition=lambda tangents, counts: tangents,
)  # fmt: skip


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
        return cast(_AVERAGES(sums, MAXIMUM(counts, number(1, wide))), weight.dtype)

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


def _checked_padding(name: str, input: Tensor, weight: Tensor, padding_idx: Any) -> int | None:
    """Raise an error for operands that are no indices and table; return a nonnegative index."""
    if input.dtype not in _INDICES:
        raise TypeError(f"{name}: input must be int32 or int64, got {input.dtype}")
    check_unpacked(name, "weight", weight)
    if weight.ndim != 2:
        raise ValueError(f"{name}: weight must have shape (V, D), got {weight.shape}")
    n = weight.shape[0]
    if input.size and not n:
        raise ValueError(f"{name}: weight must have a row, got shape {weight.shape}")
    if padding_idx is None:
        return None
    padding_idx = checked_int(name, "padding_idx", padding_idx)
    if not -n <= padding_idx < n:
        raise ValueError(f"{name}: padding_idx must be in [{-n}, {n}), got {padding_idx}")
    return padding_idx % n


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
    _refuse("embedding", max_norm=max_norm, sparse=sparse)
    padding_idx = _checked_padding("embedding", input, weight, padding_idx)
    return _rows(input, weight, padding_idx, scale_grad_by_freq)


def _check_bags(input: Tensor, offsets: Tensor | None, mode: str, include_last: bool) -> None:
    name = "embedding_bag"
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"{name}: mode must be 'sum', 'mean' or 'max', got {mode!r}")
    if input.ndim not in (1, 2):
        raise ValueError(f"{name}: input must have 1 or 2 axes, got shape {input.shape}")
    if offsets is None:
        if input.ndim == 1:
            raise ValueError(f"{name}: offsets must be an array for an input of 1 axis, got None")
        if include_last:
            raise ValueError(f"{name}: include_last_offset must be False without offsets, got True")
        if mode == "max" and not input.shape[1]:
            raise ValueError(
                f"{name}: input must have an index for each maximum, got {input.shape}"
            )
        return
    if offsets.dtype not in _INDICES:
        raise TypeError(f"{name}: offsets must be int32 or int64, got {offsets.dtype}")
    if input.ndim == 2:
        raise ValueError(f"{name}: offsets must be None for an input of 2 axes, got an array")
    if offsets.ndim != 1 or offsets.size < include_last:
        rule = "have 1 axis" + " and an entry" * include_last
        raise ValueError(f"{name}: offsets must {rule}, got shape {offsets.shape}")


def _check_factors(input: Tensor, weight: Tensor, factors: Tensor | None, mode: str) -> None:
    name = "embedding_bag"
    if not weight.is_float:
        raise TypeError(f"{name}: weight must have a floating-point dtype, got {weight.dtype}")
    if factors is None:
        return
    if mode != "sum":
        raise ValueError(f"{name}: mode must be 'sum' for per_sample_weights, got {mode!r}")
    check_same_dtype(name, "weight", "per_sample_weights", weight, factors)
    check_same_shape(name, "input", "per_sample_weights", input, factors)


def _maxima(rows: Tensor, index: Tensor, padding: int | None) -> Tensor:
    """Return the maxima of bags (B, L, D), 0 for those of padding alone."""
    if padding is None:
        return largest(rows, 1)[0]
    is_row = ne(index, padding)
    values = largest(elements(unsqueeze(is_row, 2), rows, -math.inf), 1)[0]
    return elements(any_of(is_row, 1, True), values, 0.0)


def _numbers_of_bags(offsets: Node, size: int) -> Node:
    """Return the number of the bag of each of ``size`` indices, -1 before the first bag."""
    n = offsets.shape[0]
    begins = SCATTER_ADD(
        full(1, (n, 1), "int64"), nodes.reshape(offsets, (n, 1)), axis=0, shape=(size + 1, 1)
    )
    return narrow(CUMSUM(begins, axis=0, is_reversed=False), 0, 0, size) - number(1, "int64")


def _maxima_between(rows: Node, index: Node, offsets: Node, n_bags: int, padding: Any) -> Node:
    """Return the maxima of listed bags (B, D), each from its first row; 0 for empty bags."""
    n, shape = rows.shape[0], (n_bags, rows.shape[1])
    bags = _numbers_of_bags(offsets, n)
    if padding is not None:
        is_row = NE(nodes.reshape(index, bags.shape), number(padding, index.dtype))
        bags = where(is_row, bags, number(-1, bags.dtype))
    wide = cast(STOP_GRADIENT(rows), dtypes.wide(rows.dtype))
    highest = SCATTER_MAX(full(-math.inf, shape, wide.dtype), wide, bags, axis=0)
    # NaN is the maximum of its bag.
    is_highest = LOGICAL_OR(EQ(wide, gathered(highest, bags, 0)), NE(wide, wide))
    numbers = nodes.reshape(iota(n, dtype="int64"), (n, 1))
    places = where(is_highest, numbers, number(n, "int64"))
    return gathered(rows, SCATTER_MIN(full(n, shape, "int64"), places, bags, axis=0), 0)


def _sums(rows: Node, counts: Node, offsets: Node | None, n_bags: int) -> tuple[Node, Node]:
    """Return the sums of rows, and their numbers, of each bag."""
    if offsets is None:
        return SUM(rows, axes=(1,)), SUM(counts, axes=(1,))
    bags = _numbers_of_bags(offsets, rows.shape[0])
    return (
        SCATTER_ADD(rows, bags, axis=0, shape=(n_bags, rows.shape[-1])),
        SCATTER_ADD(counts, bags, axis=0, shape=(n_bags, 1)),
    )


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
        Of equal maxima the first has the gradient.
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
        ``input`` or ``offsets`` is not an integer array, or ``weight`` not a floating-point one
        with the dtype of ``per_sample_weights``.
    ValueError
        The shapes or options do not match.

    Notes
    -----
    NaN propagates into maxima. Source: ``torch.nn.functional.embedding_bag``.
    """
    name = "embedding_bag"
    _refuse(name, max_norm=max_norm, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
    padding_idx = _checked_padding(name, input, weight, padding_idx)
    _check_bags(input, offsets, mode, include_last_offset)
    _check_factors(input, weight, per_sample_weights, mode)
    rows = _rows(input, weight, padding_idx, False)
    n_bags = input.shape[0] if offsets is None else offsets.size - include_last_offset
    if mode == "max":
        if offsets is None:
            return _maxima(rows, input, padding_idx)
        if not input.size:
            return zeros(weight.trace, (n_bags, weight.shape[1]), str(weight.dtype))

        def maxima(rows: Node, index: Node, begins: Node) -> Node:
            return _maxima_between(rows, index, begins, n_bags, padding_idx)

        return computed(maxima, rows, input, offsets)
    operands = {"begins": offsets, "factors": per_sample_weights}
    given = {name: tensor for name, tensor in operands.items() if tensor is not None}

    def reduced(rows: Node, index: Node, *others: Node) -> Node:
        named = dict(zip(given, others, strict=True))
        sums = _sums_of_bags(rows, index, n_bags, padding_idx, is_mean=mode == "mean", **named)
        return cast(sums, weight.dtype)

    result = computed(reduced, rows, input, *given.values())
    return reshape(result, (n_bags, weight.shape[1]))


def _sums_of_bags(
    rows: Node, index: Node, n_bags: int, padding_idx: int | None, *, is_mean: bool,
    begins: Node | None = None, factors: Node | None = None,
) -> Node:  # fmt: skip
    """Return the sums or means of bags of rows, in float32 at least."""
    wide = dtypes.wide(rows.dtype)
    if factors is not None:
        rows = rows * nodes.reshape(factors, (*index.shape, 1))
    index = nodes.reshape(index, (*index.shape, 1))
    rows, counts = cast(rows, wide), full(1, index.shape, wide)
    if padding_idx is not None:
        is_row = NE(index, number(padding_idx, index.dtype))
        rows, counts = where(is_row, rows, number(0, wide)), cast(is_row, wide)
    sums, n_rows = _sums(rows, counts, begins, n_bags)
    return sums / MAXIMUM(n_rows, number(1, wide)) if is_mean else sums


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
