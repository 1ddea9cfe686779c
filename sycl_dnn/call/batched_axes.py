# SPDX-License-Identifier: Apache-2.0
"""Rules for batches: functions of elements, of axes, of shapes and of indices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from sycl_dnn.call.batched_call import Call, NoRule, Rule, aligned, axes_of, axis_of
from sycl_dnn.onednn.dtypes import is_float, result_dtype
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.values import Tensor

# --- Element by element, with broadcasting


#: Functions whose operands are not promoted to one dtype.
_APART = frozenset(("float_power", "logical_and", "logical_or", "logical_xor", "masked_fill"))


def pointwise(call: Call) -> Any:
    """Align the axes of all operands, in the dtype that those of a sample are promoted to."""
    operands = {n: v for n, v in call.values.items() if isinstance(v, Tensor)}
    rank = max(v.ndim for v in operands.values())
    wholes = {n: aligned(v.whole, rank) for n, v in operands.items() if call.is_batched(n)}
    # Arrays without axes do not widen others, but a batch of them would.
    is_weak = any(call.is_batched(n) and not v.ndim for n, v in operands.items())
    if is_weak and call.name not in _APART:
        promoted = {n: v for n, v in operands.items() if n != "condition"}
        dtype = result_dtype(*promoted.values())
        if len({str(v.dtype) for v in promoted.values()}) > 1 and (
            is_float(dtype) or not is_float(str(call.of(**wholes).dtype))  # division converts each
        ):
            wholes |= {n: F.astype(wholes.get(n, v), dtype) for n, v in promoted.items()}
    return call.of(**wholes)


def masked_fill(call: Call) -> Any:
    """Fill by one value for all samples, which has no axes."""
    if call.is_batched("value"):
        raise NoRule
    return pointwise(call)


# --- Along axes


def reduction(call: Call) -> Any:
    """Reduce axes; all of them where ``dim`` is None."""
    call.only("input")
    x, dim = call.whole("input"), call["dim"]
    rank = x.ndim - 1
    if isinstance(dim, (tuple, list)) and not dim:  # no axes to some functions, all to others
        raise NoRule
    if dim is not None:
        axes = axes_of(dim, rank)
        return call.of(input=x, dim=axes if isinstance(dim, (tuple, list)) else axes[0])
    flat = F.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
    changes: dict[str, Any] = {"input": flat, "dim": 1}
    keepdim = "keepdim" in call.values and call["keepdim"]
    result = call.of(**changes | ({"keepdim": False} if "keepdim" in call.values else {}))
    if keepdim:
        if isinstance(result, tuple):
            raise NoRule
        return F.reshape(result, (x.shape[0], *(1,) * rank))
    return result


def extreme(call: Call) -> Any:
    """Reduce as ``max``, whose result without ``dim`` has no indices."""
    result = reduction(call)
    return result[0] if call["dim"] is None and isinstance(result, tuple) else result


#: Functions that move axes; a number has none.
_MOVING = frozenset(("movedim", "swapaxes", "transpose"))


def _is_of_number(dims: Any) -> bool:
    """Whether torch accepts these axes of an array without axes."""
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    return all(type(dim) is int and dim in (0, -1) for dim in dims) and len(dims) < 2


def along(*names: str, whole: Iterable[str] = ()) -> Rule:
    """Return the rule of functions whose parameters ``names`` are axes of their input.

    ``whole`` names further arrays with the axes of the input.
    """

    def rule(call: Call) -> Any:
        first = call.names[0]
        call.only(first, *whole)
        rank = call[first].ndim
        if not rank and call.name in _MOVING and all(_is_of_number(call[n]) for n in names):
            return call.whole(first)
        wholes = {n: call.whole(n) for n in (first, *whole) if isinstance(call[n], Tensor)}
        if not rank or any(v.ndim != rank + 1 for v in wholes.values()):
            raise NoRule
        axes: dict[str, Any] = {}
        for name in names:
            moved = axes_of(call[name], rank)
            axes[name] = moved if isinstance(call[name], (tuple, list)) else moved[0]
        return call.of(**wholes, **axes)

    return rule


def matrices(call: Call) -> Any:
    """Apply a function of the last two axes."""
    arrays = [n for n, v in call.values.items() if isinstance(v, Tensor)]
    if any(call[n].ndim < 2 for n in arrays):
        raise NoRule
    rank = max(call[n].ndim for n in arrays)
    return call.of(**{n: aligned(call.whole(n), rank) for n in arrays})


# --- Shapes


def unsqueeze(call: Call) -> Any:
    """Insert an axis."""
    call.only("input")
    return call.of(input=call.whole("input"), dim=axis_of(call["dim"], call["input"].ndim + 1))


def squeeze(call: Call) -> Any:
    """Remove axes of size 1."""
    x = call["input"]
    dims = tuple(range(x.ndim)) if call["dim"] is None else call["dim"]
    if not x.ndim and _is_of_number(dims):
        return x.whole
    removed = [axis for axis in axes_of(dims, x.ndim) if x.whole.shape[axis] == 1]
    return F.squeeze(x.whole, tuple(removed)) if removed else x.whole


def reshape(call: Call) -> Any:
    """Change the shape of each sample."""
    shape, x = call["shape"], call["input"]
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if sizes.count(-1) == 1:
        known = math.prod(n for n in sizes if n != -1)
        if not known or x.size % known:
            raise NoRule
        sizes[sizes.index(-1)] = x.size // known
    if math.prod(sizes) != x.size or any(n < 0 for n in sizes):
        raise NoRule
    return F.reshape(x.whole, (x.whole.shape[0], *sizes))


def expand(call: Call) -> Any:
    """Repeat elements along axes of size 1, and new ones."""
    size, x = call["size"], call["input"]
    sizes = list(size) if isinstance(size, (tuple, list)) else [size]
    if len(sizes) < x.ndim or any(n < 0 for n in sizes[: len(sizes) - x.ndim]):
        raise NoRule
    return F.expand(aligned(x.whole, len(sizes)), (x.whole.shape[0], *sizes))


def permute(call: Call) -> Any:
    """Permute the axes."""
    axes = axes_of(call["dims"], call["input"].ndim)
    return F.permute(call["input"].whole, (0, *axes))


def flatten(call: Call) -> Any:
    """Join axes; a number becomes a vector of one element."""
    rank = call["input"].ndim
    if not rank:
        return F.unsqueeze(call["input"].whole, 1)
    first, last = (axis_of(call[n], rank) for n in ("start_dim", "end_dim"))
    return F.flatten(call["input"].whole, first, last)


def unflatten(call: Call) -> Any:
    """Split an axis."""
    dim = axis_of(call["dim"], call["input"].ndim)
    return F.unflatten(call["input"].whole, dim, call["sizes"])


def joined(call: Call) -> Any:
    """Join batches: ``cat`` counts the axes of its parts, ``stack`` those of its result."""
    tensors = call["tensors"]
    if len({t.ndim for t in tensors}) != 1:  # empty vectors, which ``cat`` skips
        raise NoRule
    rank = tensors[0].ndim + (call.name == "stack")
    wholes = [call.batching.whole_of(t) for t in tensors]
    return call.run(wholes, axis_of(call["dim"], rank))


def tile(call: Call) -> Any:
    """Repeat each sample along its axes."""
    x, dims = call["input"], call["dims"]
    counts = list(dims) if isinstance(dims, (tuple, list)) else [dims]
    rank = max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    return F.tile(aligned(x.whole, rank), (1, *counts))


def like(call: Call) -> Any:
    """Apply a function that knows no axes."""
    call.only("input")
    return call.of(input=call["input"].whole)


# --- Indices


def taken(batching: Any, x: Any, items: Sequence[Any]) -> Any:
    """Return ``x[items]``, with an item for each axis of a sample, over wholes."""
    whole = batching.whole_of(x)
    arrays = [i for i, item in enumerate(items) if hasattr(item, "shape")]
    if not arrays:
        key = (slice(None), *items)
        return whole[key]
    numbers, *indices = _numbered(batching, [items[i] for i in arrays])
    rank, supply = numbers.ndim - 1, iter(indices)
    key = (numbers, *[next(supply) if i in arrays else item for i, item in enumerate(items)])
    result = whole[key]
    kept = [item for item in items if not isinstance(item, int)]
    axes = [i for i, item in enumerate(kept) if hasattr(item, "shape")]
    # Indices next to each other leave their axes in place, others come first. The number of the
    # sample is not next to those behind a slice, so their axes came first and move back.
    if axes == list(range(axes[0], axes[-1] + 1)) and axes[0]:
        return F.movedim(
            result, tuple(range(1, 1 + rank)), tuple(range(1 + axes[0], 1 + axes[0] + rank))
        )
    return result


def _numbered(batching: Any, indices: Sequence[Any]) -> list[Any]:
    """Return indices of wholes that broadcast: the number of the sample, then those given."""
    rank = max(index.ndim for index in indices)
    numbers = F.reshape(F.arange(batching.size), (batching.size, *(1,) * rank))
    return [numbers, *[aligned(i.whole, rank) if batching.is_batched(i) else i for i in indices]]


def index_put(call: Call) -> Any:
    """Write by indices: the number of the sample is the first of them."""
    batching, x, values = call.batching, call.whole("input"), call["values"]
    indices = list(call["indices"])
    if any(not hasattr(i, "shape") or str(i.dtype) == "bool" for i in indices):
        raise NoRule
    numbered = _numbered(batching, indices)
    if batching.is_batched(values):
        values = aligned(values.whole, numbered[0].ndim + x.ndim - 2 - len(indices))
    return call.run(x, numbered, values, call["accumulate"])
