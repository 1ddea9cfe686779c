# SPDX-License-Identifier: Apache-2.0
"""``pad``: padding and cropping of the borders of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.shape.arrangement import rearranged
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ops import selection
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow

#: PyTorch's modes that repeat elements.
MODES = ("reflect", "replicate", "circular")
#: Padding before and after each axis; negative values crop.
Widths = list[tuple[int, int]]


_MAX_WIDTH = 2**31


def _widths(pad: Sequence[int], ndim: int) -> Widths:
    """Convert PyTorch's list (last axis first) to one pair per axis."""
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad: pad must be a sequence of int, got {pad!r}")
    numbers = [checked_int("pad", "pad", p) for p in pad]
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise ValueError(
            f"pad: pad must have two numbers for each of at most {ndim} axes, got {tuple(pad)}"
        )
    for number in numbers:
        if abs(number) > _MAX_WIDTH:
            raise ValueError(f"pad: pad must be in [-2**31, 2**31], got {number}")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _cropped(x: Tensor, widths: Widths) -> Tensor:
    """Return the view that remains after cropping by negative widths."""
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
    return rearranged(
        x, lambda node: selection.pad(node, widths, value), lambda node: selection.pad(node, widths)
    )


def _repeated(x: Tensor, widths: Widths, mode: str) -> Tensor:
    """Pad by repeating elements; only ``"circular"`` depends on the cropped result."""
    added = [(max(b, 0), max(a, 0)) for b, a in widths]
    cut = [(min(b, 0), min(a, 0)) for b, a in widths]
    source = _cropped(x, cut) if mode == "circular" else x
    _check_reach(source, added, mode)
    widths_added = tuple(added)
    result = rearranged(source, lambda node: selection.BORDER(node, widths=widths_added, mode=mode))
    return result if mode == "circular" else _cropped(result, cut)


def _check_reach(x: Tensor, widths: Widths, mode: str) -> None:
    """Refuse to reflect or wrap more than once, or to repeat from an empty axis."""
    for n, pair in zip(x.shape, widths, strict=True):
        limit = {"reflect": n - 1, "circular": n, "replicate": math.inf if n else 0}[mode]
        if max(pair) > max(limit, 0):
            raise ValueError(
                f"pad: pad must be at most {max(limit, 0)} along an axis of {n} elements in mode "
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
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad the borders of an array; negative widths crop.

    Parameters
    ----------
    input : array of any shape and dtype
        Any shape for ``"constant"``, else (N, C, *S) or (C, *S), where ``pad`` covers S.
    pad : sequence of int
        Before and after the last axis, before and after the second to last, and so on.
    mode : {"constant", "reflect", "replicate", "circular"}
        The added elements: ``value``, a reflection at the border, the border element, or the
        elements of the opposite end.
    value : float, optional
        0 by default; only for mode ``"constant"``.

    Returns
    -------
    array
        Same axis order.

    Raises
    ------
    ValueError
        ``pad`` does not match the shape, or a mode cannot repeat that many elements.

    Notes
    -----
    A single kernel in every mode. Source: ``torch.nn.functional.pad``.
    """
    widths = _widths(pad, input.ndim)
    if mode == "constant":
        added = [(max(b, 0), max(a, 0)) for b, a in widths]
        return _constant(_cropped(input, widths), added, 0.0 if value is None else value)
    if mode not in MODES:
        choices = ", ".join(map(repr, ("constant", *MODES)))
        raise ValueError(f"pad: mode must be one of {choices}, got {mode!r}")
    if value is not None and value != 0:
        raise ValueError(f"pad: value must be None for mode {mode!r}, got {value}")
    _check_rank(input, pad, mode)
    return _repeated(input, widths, mode)
