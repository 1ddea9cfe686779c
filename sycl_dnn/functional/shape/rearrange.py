# SPDX-License-Identifier: Apache-2.0
"""Elements between channels and pixels: channel_shuffle, pixel_shuffle, pixel_unshuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import viewable_strides

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


Shape = tuple[int, ...]


def regroup(x: Tensor, fine: Shape, order: Sequence[int], shape: Shape) -> Tensor:
    """Split axes, permute them and merge again, in one copy that keeps the order of axes.

    Parameters
    ----------
    x : Tensor
    fine : tuple of int
        Shape of ``x`` with its axes split.
    order : sequence of int
        Axes of ``fine`` as they stand in the result.
    shape : tuple of int
        Shape of the result, axes merged.
    """
    trace, plain = x.trace, x.trace.plain(x)
    if x.desc is None:

        def regrouped(array: dpnp.ndarray) -> dpnp.ndarray:
            return array.reshape(fine).transpose(order).reshape(shape)

        return trace.array_call(regrouped, [x], [Out(shape, x.dtype)])[0]
    if not x.size:
        made = trace.zeros(layout.row_major(shape, x.dtype), shape, x.dtype)
    else:
        made = trace.new(layout.like(plain.desc, x.dtype, shape), shape, x.dtype)
        source = plain.view(fine, viewable_strides(plain, fine))
        permuted = tuple(fine[a] for a in order)
        source = source.view(permuted, tuple(source.strides[a] for a in order))
        place = made.view(permuted, viewable_strides(made, permuted))
        trace.written_into(made, place, source)
    back = [list(order).index(i) for i in range(len(order))]
    permuted = tuple(fine[a] for a in order)
    return trace.view(x, made, lambda g: regroup(g, permuted, back, x.shape))


@operation
def channel_shuffle(input: dpnp.ndarray | Array, groups: int) -> dpnp.ndarray | Array:
    """Deal the channels of each group out over all groups.

    Parameters
    ----------
    input : array (N, C, *S)
    groups : int
        Divides C.

    Returns
    -------
    array (N, C, *S)
        Channel ``i * groups + g`` was channel ``g * (C / groups) + i``. The order of axes is kept.

    Raises
    ------
    ValueError
        ``input`` has less than 3 axes, or ``groups`` does not divide C.

    Notes
    -----
    Source: Zhang et al., "ShuffleNet", arXiv:1707.01083.
    """
    groups = checked_int("channel_shuffle", "groups", groups, 1)
    shape = input.shape
    if len(shape) < 3:
        raise ValueError(f"channel_shuffle: input must have at least 3 axes, got shape {shape}")
    if shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: groups must divide the {shape[1]} channels, got {groups}"
        )
    fine = (shape[0], groups, shape[1] // groups, *shape[2:])
    return regroup(input, fine, (0, 2, 1, *range(3, len(fine))), shape)


@operation
def pixel_shuffle(input: dpnp.ndarray | Array, upscale_factor: int) -> dpnp.ndarray | Array:
    """Spread channels over a finer grid of pixels.

    Parameters
    ----------
    input : array (*B, C * r * r, H, W)
    upscale_factor : int
        ``r``.

    Returns
    -------
    array (*B, C, H * r, W * r)
        The order of axes is kept.

    Raises
    ------
    ValueError
        ``input`` has less than 3 axes, or ``r * r`` does not divide its channels.

    Notes
    -----
    Source: Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network", arXiv:1609.05158.
    """
    r = checked_int("pixel_shuffle", "upscale_factor", upscale_factor, 1)
    *batch, channels, h, w = _image("pixel_shuffle", input)
    if channels % (r * r):
        raise ValueError(
            f"pixel_shuffle: input must have channels in multiples of {r * r}, got {channels}"
        )
    b, c = len(batch), channels // (r * r)
    order = (*range(b), b, b + 3, b + 1, b + 4, b + 2)
    return regroup(input, (*batch, c, r, r, h, w), order, (*batch, c, h * r, w * r))


@operation
def pixel_unshuffle(input: dpnp.ndarray | Array, downscale_factor: int) -> dpnp.ndarray | Array:
    """Gather squares of pixels into channels: the inverse of ``pixel_shuffle``.

    Parameters
    ----------
    input : array (*B, C, H * r, W * r)
    downscale_factor : int
        ``r``.

    Returns
    -------
    array (*B, C * r * r, H, W)
        The order of axes is kept.

    Raises
    ------
    ValueError
        ``input`` has less than 3 axes, or ``r`` does not divide its height and width.
    """
    r = checked_int("pixel_unshuffle", "downscale_factor", downscale_factor, 1)
    *batch, c, height, width = _image("pixel_unshuffle", input)
    if height % r or width % r:
        raise ValueError(
            f"pixel_unshuffle: downscale_factor must divide height and width {(height, width)}, "
            f"got {r}"
        )
    b, h, w = len(batch), height // r, width // r
    order = (*range(b), b, b + 2, b + 4, b + 1, b + 3)
    return regroup(input, (*batch, c, h, r, w, r), order, (*batch, c * r * r, h, w))


def _image(name: str, x: Tensor) -> Shape:
    if x.ndim < 3:
        raise ValueError(f"{name}: input must have at least 3 axes (*, C, H, W), got {x.shape}")
    return x.shape
