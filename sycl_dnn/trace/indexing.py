# SPDX-License-Identifier: Apache-2.0
"""Keys of traced tensors: numbers, slices, None, ``...`` and arrays of integers, as in NumPy."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.trace import functions, views
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.nested_arguments import trace_of_leaves
from sycl_dnn.trace.refusals import NeedsArrays, value_of
from sycl_dnn.trace.torch_methods import alias, unspoilt
from sycl_dnn.trace.values import Tensor

_INTEGERS = ("int32", "int64")
_BOOL = (
    "index: a mask gives an array whose shape depends on values, which are not known while a "
    "function is compiled; use sycl_dnn.functional.where, or multiply with the mask"
)


def taken(x: Any, key: Any) -> Any:
    """Return ``x[key]``."""
    unspoilt("index", x)
    items = full_key(x, key)
    trace = trace_of_leaves((x, *items))
    items = [trace.capture(item) if _is_captured(item) else item for item in items]
    result = trace.joined(taken_from, taken_from, (x, tuple(items)), {})
    return result if any(map(_is_array, items)) else alias(x, result)


def _is_captured(item: Any) -> bool:
    """Whether an item is an array that the traced function refers to itself."""
    return isinstance(item, dpnp.ndarray) and not isinstance(item, Tensor)


def full_key(x: Any, key: Any) -> list[Any]:
    """Return a key with an item for each axis of ``x``, and None for each new one."""
    items = key if isinstance(key, tuple) else (key,)
    expanded = [expanded_item for item in items for expanded_item in _expanded(item)]
    _check_masks(x.shape, items)
    return _full_key(expanded, len(x.shape))


def taken_from(x: Any, items: Sequence[Any]) -> Any:
    """Return ``x`` by a key with an item for each axis, and None for each new one."""
    return (_gathered if any(map(_is_array, items)) else _sliced)(x, items)


def _sliced(x: Any, items: Sequence[Any]) -> Any:
    """Return ``x`` with numbers, slices and None as index."""
    view = x
    axis, sizes = 0, []
    for item in items:
        if item is None:
            sizes.append(1)
            continue
        n = x.shape[axis]
        start, length, step = _range(item, n, axis)
        if step < 0:
            # The same elements forward, then reversed.
            forward = start + (length - 1) * step
            view = views.narrow(view, axis, forward if length else 0, length, -step)
            view = functions.flip(view, axis) if length > 1 else view
        elif (start, length, step) != (0, n, 1):
            view = views.narrow(view, axis, start, length, step)
        if isinstance(item, slice):
            sizes.append(length)
        axis += 1
    return view if tuple(sizes) == view.shape else views.reshape(view, sizes)


def _full_key(items: list[Any], ndim: int) -> list[Any]:
    """Return a key with one item for each axis, not counting None."""
    n_axes = sum(i is not None and i is not Ellipsis for i in items)
    if n_axes > ndim or sum(i is Ellipsis for i in items) > 1:
        listed = ", ".join(map(_item_text, items))
        raise IndexError(f"index: there must be at most {ndim} items and one ..., got [{listed}]")
    rest = [slice(None)] * (ndim - n_axes)
    ellipsis_at = next((p for p, i in enumerate(items) if i is Ellipsis), None)
    return (
        items + rest
        if ellipsis_at is None
        else items[:ellipsis_at] + rest + items[ellipsis_at + 1 :]
    )


def _item_text(item: Any) -> str:
    return f"an array of shape {item.shape}" if _is_array(item) else repr(item)


def _is_array(item: Any) -> bool:
    return hasattr(item, "shape")


def _expanded(item: Any) -> Sequence[Any]:
    """Return an item of a key as a list: a mask as one array of indices for each of its axes."""
    if isinstance(item, (bool, np.bool_)):
        raise NeedsArrays(_BOOL)
    if isinstance(item, (list, range, tuple)):
        item = np.asarray(item, None if len(item) else "int64")
    return _places(item) if _is_mask(item) else [_item(item)]


def _is_mask(item: Any) -> bool:
    return _is_array(item) and not isinstance(item, np.generic) and str(item.dtype) == "bool"


def _places(mask: Any) -> Sequence[Any]:
    """Return the positions where a mask is true, computing the values of a tensor if possible."""
    if isinstance(mask, Tensor):
        mask = value_of("index", mask, _BOOL)
    if not mask.ndim:
        raise TypeError("index: a mask must have axes, got an array of one element")
    is_numpy = isinstance(mask, np.ndarray)
    return places_of(mask) if is_numpy else functions.nonzero(mask, as_tuple=True)


def places_of(values: np.ndarray) -> list[np.ndarray]:
    """Return the indices along each axis, as ``np.nonzero``, which is slow for several axes."""
    rest, indices = np.flatnonzero(values), []
    for n in reversed(values.shape[1:]):
        before, rest = rest, rest // max(n, 1)
        indices.append(before - rest * n)
    return [rest, *reversed(indices)]


def _check_masks(shape: tuple[int, ...], items: Sequence[Any]) -> None:
    """Raise IndexError for a mask whose sizes are not those of its axes."""
    n_axes = [item.ndim if _is_mask(item) else int(item is not None) for item in items]
    axis = 0
    for number, item in enumerate(items):
        if item is Ellipsis:
            axis = len(shape) - sum(n_axes[number + 1 :])
            continue
        sizes = shape[axis : axis + n_axes[number]]
        if _is_mask(item) and tuple(item.shape) != sizes:
            raise IndexError(
                f"index: a mask must have the sizes of its axes, {sizes}, got {tuple(item.shape)}"
            )
        axis += n_axes[number]


def _item(item: Any) -> Any:
    """Return an item of a key, checked: NumPy's numbers as Python's."""
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, slice):
        # Bounds that are arrays are read here, where a running function can.
        bounds = (item.start, item.stop, item.step)
        return slice(*(operator.index(v) if isinstance(v, Tensor) else v for v in bounds))
    if not _is_array(item):
        return item if item is None or isinstance(item, EllipsisType) else _number(item)
    name = getattr(item.dtype, "name", str(item.dtype))
    if isinstance(item, np.ndarray):
        if item.dtype.kind not in "iu":
            raise TypeError(f"index: arrays must hold integers, got {name}")
        return item.astype("int64") if item.ndim else int(item)
    if name not in _INTEGERS:
        raise TypeError(f"index: arrays must be int32 or int64, got {name}")
    return item


def _number(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(
            "index: items must be numbers, slices, None, ... or arrays of integers, got "
            f"{type(item).__name__}"
        ) from None


def _gathered(x: Any, items: Sequence[Any]) -> Any:
    """Return ``x`` where some items are arrays of integers; all others come first, as in dpnp."""
    sliced = _sliced(x, [slice(None) if _is_array(item) else item for item in items])
    keys = [item for item in items if not isinstance(item, int)]
    chosen = [axis for axis, item in enumerate(keys) if _is_array(item)]
    rest = [i for i in range(sliced.ndim) if i not in chosen]
    sizes = [sliced.shape[i] for i in chosen]
    check_numbers(x.shape, items)
    if len(chosen) == 1:
        return _along(sliced, chosen[0], keys[chosen[0]])
    index = functions.flat_index(sliced.trace, [keys[i] for i in chosen], sizes)
    permuted = functions.permute(sliced, (*chosen, *rest))
    width = math.prod(permuted.shape[len(chosen) :])
    table = functions.reshape(permuted, (math.prod(sizes), width))
    shape = tuple(index.shape)
    rows = functions.reshape(index, (math.prod(shape),))
    result = functions.reshape(
        functions.embedding(rows, table), (*shape, *permuted.shape[len(chosen) :])
    )
    # Adjacent arrays leave their axes in place, others come first.
    if chosen != list(range(chosen[0], chosen[-1] + 1)) or not chosen[0]:
        return result
    first, n = chosen[0], len(shape)
    order = [*range(n, n + first), *range(n), *range(n + first, result.ndim)]
    return functions.permute(result, order)


def check_numbers(shape: tuple[int, ...], items: Sequence[Any]) -> None:
    """Raise IndexError for a NumPy index that is out of range, in a key with all axes."""
    axes = [item for item in items if item is not None]
    for axis, (item, n) in enumerate(zip(axes, shape, strict=True)):
        indices = item if isinstance(item, np.ndarray) else np.zeros(0, int)
        wrong = indices[(indices < -n) | (indices >= n)]
        if wrong.size:
            raise IndexError(f"index: {wrong.flat[0]} is out of range for axis {axis} of size {n}")


def _along(x: Any, axis: int, item: Any) -> Any:
    """Return ``x`` by one array of integers along an axis."""
    index = functions.as_tensor(x.trace, item)
    slices = functions.index_select(x, axis, functions.reshape(index, (index.size,)))
    return functions.reshape(slices, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def _range(item: Any, n: int, axis: int) -> tuple[int, int, int]:
    """Return start, length and step of one item of a key."""
    if isinstance(item, slice):
        start, stop, step = item.indices(n)
        return start, len(range(start, stop, step)), step
    if not -n <= item < n:
        raise IndexError(f"index: {item} is out of range for axis {axis} of size {n}")
    return item % n, 1, 1


# --- Assignment: the values after it, as another tensor


def put(x: Any, key: Any, value: Any) -> Any:
    """Return ``x`` after ``x[key] = value``; values are converted to its dtype."""
    unspoilt("assignment", x)
    items = key if isinstance(key, tuple) else (key,)
    if isinstance(value, (np.generic, np.ndarray)):
        value = functions.tensor(value) if value.ndim else value.item()
    if not hasattr(value, "shape"):
        if not x.size:  # nothing is assigned, if the key is one
            _check_masks(x.shape, items) if _is_mask(items[0]) else taken(x, key)
            return clone_of(x)
        value = functions.full_like(x[(0,) * x.ndim], value)
    value = functions.astype(value, x.dtype)
    mask = items[0]
    is_mask = len(items) == 1 and _is_mask(mask) and isinstance(mask, Tensor)
    if is_mask and _is_row(value.shape, x.shape[mask.ndim :]):  # the same for all true elements
        _check_masks(x.shape, items)
        mask = functions.reshape(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim)))
        return functions.where(mask, value, x)
    numbers = x.trace.joined(numbers_of, numbers_of, (x,), {})
    places = taken(numbers, key)
    values = functions.reshape(_broadcast(value, places.shape), (places.size,))
    flat = functions.reshape(x, (x.size,))
    updated = functions.index_put(flat, [functions.reshape(places, (places.size,))], values)
    return functions.reshape(updated, x.shape)


def _is_row(shape: tuple[int, ...], tail: tuple[int, ...]) -> bool:
    pairs = zip(reversed(shape), reversed(tail), strict=False)
    return len(shape) <= len(tail) and all(a in (1, b) for a, b in pairs)


def numbers_of(x: Any) -> Any:
    """Return the number of each element, in the shape of ``x``."""
    return functions.reshape(functions.arange(x.size, dtype="int64"), x.shape)


def _broadcast(value: Any, shape: tuple[int, ...]) -> Any:
    extra = value.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        value = functions.reshape(value, value.shape[extra:])
    try:
        return functions.expand(value, shape)
    except ValueError:
        raise ValueError(
            f"assignment: values must broadcast to {tuple(shape)}, got shape {tuple(value.shape)}"
        ) from None
