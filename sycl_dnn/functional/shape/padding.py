# SPDX-License-Identifier: Apache-2.0
"""Pad the borders of an array, or crop them: torch.nn.functional.pad.

The array is copied into the middle of the result. Then each axis in turn gets its borders from what
the axes before have filled: one copy for each border, but wide mirrored ones in one call of dpnp's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import axis_order, narrow, transpose, untaped

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


#: Elements before and after, for each axis.
AxisWidths = Sequence[tuple[int, int]]
#: PyTorch's modes, and what NumPy calls them.
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _borders(mode: str, n: int, before: int, after: int) -> Iterator[tuple[int, int, int]]:
    """Yield (to, from, length): where slices of a padded axis of n inner elements come from."""
    end = before + n
    if mode == "circular":
        yield from ((0, n, before), (end, before, after))
    elif mode == "reflect":
        yield from ((before - k, before + k, 1) for k in range(1, before + 1))
        yield from ((end - 1 + k, end - 1 - k, 1) for k in range(1, after + 1))
    else:
        yield from ((0, before, before), (end, end - 1, after))


def _slices(
    whole: Tensor, shape: Sequence[int], widths: AxisWidths, mode: str
) -> list[tuple[Tensor, Tensor]]:
    """Return (border, source), views of ``whole``, in the order in which they are filled."""
    made = []
    for axis, (before, after) in enumerate(widths):
        for to, source, length in _borders(mode, shape[axis], before, after):
            sizes = (*whole.shape[:axis], length, *whole.shape[axis + 1 :])
            step = whole.strides[axis]
            if length:
                # One element is repeated by a stride of 0.
                held = {axis: 0} if mode == "replicate" else {}
                steps = tuple(held.get(a, s) for a, s in enumerate(whole.strides))
                border = whole.view(sizes, whole.strides, to * step)
                made.append((border, whole.view(sizes, steps, source * step)))
    return made


def _middle(whole: Tensor, shape: Sequence[int], widths: AxisWidths) -> Tensor:
    start = sum(b * s for (b, _), s in zip(widths, whole.strides, strict=True))
    return whole.view(tuple(shape), whole.strides, start)


def _fresh(trace: Trace, like: Tensor, shape: Sequence[int], dtype: str) -> Tensor:
    desc = layout.like(like.desc, dtype, shape)
    return Tensor(trace, Storage(desc), desc, dtype, tuple(shape))


def _gradient(grad: Tensor, x: Tensor, widths: AxisWidths, mode: str) -> Tensor:
    """Add the gradients of all copies to those of the originals, in float32."""
    trace, plain = x.trace, x.trace.plain(grad)
    wide = dtypes.wide(x.dtype)
    whole = _fresh(trace, plain, plain.shape, wide)
    trace.written_into(whole, whole, plain)
    for border, source in reversed(_slices(whole, x.shape, widths, mode)):
        trace.added_to(*_summed(border, source))
    made = trace.convert(_middle(whole, x.shape, widths), x.dtype)
    return trace.view(grad, made, lambda g: repeated(g, widths, mode))


def _summed(border: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """Return the one element that a border repeats, and the sum of the border's gradients."""
    held = [a for a, s in enumerate(source.strides) if not s and source.shape[a] > 1]
    if not held:
        return source, border
    shape = tuple(1 if a in held else n for a, n in enumerate(source.shape))
    with untaped(border.trace):
        total = reduce(algorithm.reduction_sum, border, held)
    return source.view(shape, border.strides), total


# --- Mirrored borders: oneDNN has no negative strides, so many elements are chosen by number

#: From this many slices of one element on.
_MANY = 8


def _numbers(n: int, before: int, after: int) -> np.ndarray:
    return np.pad(np.arange(n), (before, after), mode="reflect")


def _mirrored(x: Tensor, widths: AxisWidths) -> Tensor:
    """Pad by dpnp in the order of axes in which ``x`` lies, in one call."""
    order = axis_order(x.trace.plain(x), x.ndim)
    turned, pairs = transpose(x, order), [widths[a] for a in order]
    shape = tuple(n + b + a for n, (b, a) in zip(turned.shape, pairs, strict=True))
    made = _padded(turned, shape, pairs)
    return transpose(made, [order.index(a) for a in range(x.ndim)])


def _padded(x: Tensor, shape: tuple[int, ...], widths: AxisWidths) -> Tensor:
    def call(a: dpnp.ndarray) -> dpnp.ndarray:
        for axis, (before, after) in enumerate(widths):
            if before or after:
                chosen = _numbers(a.shape[axis], before, after)
                a = dpnp.take(a, dpnp.asarray(chosen, sycl_queue=a.sycl_queue), axis=axis)
        return a

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": _folded(grads["0"], x, widths)}

    return x.trace.array_call(call, [x], [Out(shape, x.dtype)], rule)[0]


def _folded(grad: Tensor, x: Tensor, widths: AxisWidths) -> Tensor:
    """Add the gradients of mirrored elements to those of the originals, in float32."""
    wide = dtypes.wide(x.dtype)

    def call(g: dpnp.ndarray) -> dpnp.ndarray:
        for axis, (before, after) in enumerate(widths):
            if before or after:
                g = _folded_along(dpnp.moveaxis(g, axis, 0), before, after)
                g = dpnp.moveaxis(g, 0, axis)
        return dpnp.ascontiguousarray(g)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": _padded(grads["0"], grad.shape, widths)}

    given = converted(grad, wide)
    made = x.trace.array_call(call, [given], [Out(x.shape, wide)], rule)[0]
    return converted(made, x.dtype)


def _folded_along(g: dpnp.ndarray, before: int, after: int) -> dpnp.ndarray:
    n = len(g) - before - after
    made = g[before : before + n].copy()
    if before:
        made[1 : before + 1] += g[:before][::-1]
    if after:
        made[n - 1 - after : n - 1] += g[before + n :][::-1]
    return made


def _by_dpnp(x: Tensor, shape: Sequence[int], widths: AxisWidths, mode: str) -> Tensor:
    def padded(array: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.pad(array, widths, mode=MODES[mode])

    return x.trace.array_call(padded, [x], [Out(tuple(shape), x.dtype)])[0]


def repeated(x: Tensor, widths: AxisWidths, mode: str) -> Tensor:
    """Pad a tensor; the widths are not negative and within what the mode can reach."""
    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True))
    if not x.is_float:
        return _by_dpnp(x, shape, widths, mode)
    if mode == "reflect" and x.size and sum(b + a for b, a in widths) > _MANY:
        return _mirrored(x, widths)
    trace, plain = x.trace, x.trace.plain(x)
    made = _fresh(trace, plain, shape, x.dtype)
    if x.size:
        trace.written_into(made, _middle(made, x.shape, widths), plain)
        for border, source in _slices(made, x.shape, widths, mode):
            trace.written_into(made, border, source)
    else:
        made = trace.zeros(made.desc, shape)
    return trace.view(x, made, lambda g: _gradient(g, x, widths, mode))


# --- Pad the borders of an array, or crop them: torch.nn.functional.pad

#: Elements before and after, for each axis; negative ones crop.
Widths = list[tuple[int, int]]


_LARGEST = 2**31


def _widths(pad: Sequence[int], ndim: int) -> Widths:
    """Return PyTorch's list, last axis first, as one pair for each axis."""
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad: pad must be a sequence of int, got {pad!r}")
    numbers = [checked_int("pad", "pad", p) for p in pad]
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise ValueError(
            f"pad: pad must have two numbers for each of at most {ndim} axes, got {tuple(pad)}"
        )
    for number in numbers:
        if abs(number) > _LARGEST:
            raise ValueError(f"pad: pad must be in [-2**31, 2**31], got {number}")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _cropped(x: Tensor, widths: Widths) -> Tensor:
    """Return the view that negative widths leave."""
    for axis, (before, after) in enumerate(widths):
        cut, end = max(-before, 0), max(-after, 0)
        length = x.shape[axis] - cut - end
        if length < 0:
            raise ValueError(
                f"pad: pad must leave at least 0 of {x.shape[axis]} elements, got {(before, after)}"
            )
        if cut or end:
            x = narrow(x, axis, cut, length)
    return x


def _constant(x: Tensor, widths: Widths, value: float) -> Tensor:
    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True))
    if not x.is_float:
        return _filled_by_dpnp(x, shape, widths, value)
    trace, plain = x.trace, x.trace.plain(x)
    made = trace.zeros(layout.like(plain.desc, x.dtype, shape), shape, x.dtype)
    if value:
        made = linear_map(made, 0.0, value)
    start = sum(b * s for (b, _), s in zip(widths, made.strides, strict=True))
    if x.size:
        trace.written_into(made, made.view(x.shape, made.strides, start), plain)
    return trace.view(x, made, lambda g: _cropped(g, [(-b, -a) for b, a in widths]))


def _filled_by_dpnp(x: Tensor, shape: tuple[int, ...], widths: Widths, value: float) -> Tensor:
    def padded(array: dpnp.ndarray) -> dpnp.ndarray:
        return dpnp.pad(array, widths, mode="constant", constant_values=value)

    return x.trace.array_call(padded, [x], [Out(shape, x.dtype)])[0]


def _repeated(x: Tensor, widths: Widths, mode: str) -> Tensor:
    """Pad by repeating elements; only ``"circular"`` depends on what the cropping leaves."""
    added = [(max(b, 0), max(a, 0)) for b, a in widths]
    cut = [(min(b, 0), min(a, 0)) for b, a in widths]
    source = _cropped(x, cut) if mode == "circular" else x
    _check_reach(source, added, mode)
    made = repeated(source, added, mode)
    return made if mode == "circular" else _cropped(made, cut)


def _check_reach(x: Tensor, widths: Widths, mode: str) -> None:
    """Refuse to mirror or wrap around more than once, or to repeat what is not there."""
    for n, pair in zip(x.shape, widths, strict=True):
        most = {"reflect": n - 1, "circular": n, "replicate": math.inf if n else 0}[mode]
        if max(pair) > max(most, 0):
            raise ValueError(
                f"pad: pad must be at most {max(most, 0)} along an axis of {n} elements in mode "
                f"{mode!r}, got {pair}"
            )


def _check_rank(x: Tensor, pad: Sequence[int], mode: str) -> None:
    n_axes = len(pad) // 2
    if not 1 <= n_axes <= 3 or x.ndim not in (n_axes + 1, n_axes + 2):
        raise ValueError(
            f"pad: input must have one or two axes more than the 1 to 3 that mode {mode!r} pads, "
            f"got shape {x.shape} and pad {tuple(pad)}"
        )


@operation
def pad(
    input: dpnp.ndarray | Array,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> dpnp.ndarray | Array:
    """Put elements around an array; negative numbers crop it.

    Parameters
    ----------
    input : array of any shape and dtype
        Modes that repeat elements: (N, C, *S) or (C, *S), S being the axes that ``pad`` names.
    pad : sequence of int
        Before and after the last axis, before and after the last but one, and so on.
    mode : {"constant", "reflect", "replicate", "circular"}
        What is added: ``value``, the elements mirrored at the border, the element at the border, or
        those of the other end.
    value : float, optional
        0 by default; for mode ``"constant"`` only.

    Returns
    -------
    array
        The order of axes is kept.

    Raises
    ------
    ValueError
        ``pad`` does not fit the shape, or a mode cannot repeat that many elements.

    Notes
    -----
    Source: oneDNN developer guide, "Reorder"; NumPy's ``pad`` as dpnp has it for integers, and
    its ``take`` for wide mirrored borders.
    """
    widths = _widths(pad, input.ndim)
    if mode == "constant":
        added = [(max(b, 0), max(a, 0)) for b, a in widths]
        return _constant(_cropped(input, widths), added, 0.0 if value is None else value)
    if mode not in MODES:
        known = ", ".join(map(repr, ("constant", *MODES)))
        raise ValueError(f"pad: mode must be one of {known}, got {mode!r}")
    if value is not None and value != 0:
        raise ValueError(f"pad: value must be None for mode {mode!r}, got {value}")
    _check_rank(input, pad, mode)
    return _repeated(input, widths, mode)
