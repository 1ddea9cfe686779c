# SPDX-License-Identifier: Apache-2.0
"""``affine_grid`` and ``grid_sample``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.kernels.launching import dense
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.activation import HARDTANH
from sycl_dnn.ops.creation import full
from sycl_dnn.ops.selection import gather
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, transpose

_CUBIC = -0.75
#: By mode: offsets from the floor, and the weights there as polynomials of the fraction.
TAPS: dict[str, tuple[tuple[int, ...], list[list[float]]]] = {
    "nearest": ((0,), [[1.0]]),
    "bilinear": ((0, 1), [[1.0, -1.0], [0.0, 1.0]]),
    "bicubic": ((-1, 0, 1, 2), [
        [0.0, _CUBIC, -2 * _CUBIC, _CUBIC],
        [1.0, 0.0, -_CUBIC - 3, _CUBIC + 2],
        [0.0, -_CUBIC, 2 * _CUBIC + 3, -_CUBIC - 2],
        [0.0, 0.0, _CUBIC, -_CUBIC],
    ]),
}  # fmt: skip
_PADDINGS = ("zeros", "border", "reflection")


@operation
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the sampling grid of an affine map, for ``grid_sample``.

    Parameters
    ----------
    theta : array (N, 2, 3) or (N, 3, 4)
        Floating point; one map per image or volume.
    size : sequence of int
        (N, C, H, W) or (N, C, D, H, W) of the result of ``grid_sample``.
    align_corners : bool, optional
        Whether -1 and 1 refer to the centers of the border pixels, rather than their outer edges.

    Returns
    -------
    array (N, H, W, 2) or (N, D, H, W, 3)

    Raises
    ------
    TypeError
        ``theta`` is not floating point.
    ValueError
        The shapes do not match.

    Notes
    -----
    Differentiable to any order. Source: ``torch.nn.functional.affine_grid``.
    """
    check_float("affine_grid", theta=theta)
    sizes = [checked_int("affine_grid", "size", n, 1) for n in size]
    rank = len(sizes) - 2
    if rank not in (2, 3) or theta.shape != (sizes[0], rank, rank + 1):
        raise ValueError(
            f"affine_grid: theta must have shape (N, 2, 3) or (N, 3, 4) for size (N, C, *S), got "
            f"{theta.shape} and {tuple(sizes)}"
        )
    wide = converted(theta, dtypes.wide(theta.dtype))
    axes = [_centers(n, bool(align_corners)) for n in sizes[2:]]
    points = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1).reshape(-1, rank)
    corners = np.concatenate([points, np.ones_like(points[:, :1])], 1)
    result = matmul(theta.trace.literal(corners, wide.dtype), transpose(wide, (0, 2, 1)))
    return converted(reshape(result, (sizes[0], *sizes[2:], rank)), theta.dtype)


def _centers(n: int, align_corners: bool) -> np.ndarray:
    if n == 1:
        return np.zeros(1)
    return np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n)


# --- grid_sample


def _reflected(v: Node, n: int, align_corners: bool) -> Node:
    """Reflect a coordinate into an axis of ``n`` pixels."""
    low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
    if not span:
        return v * 0.0
    phase = ops.REMAINDER(v - low, number(2 * span, v.dtype))
    return span - ops.ABS(phase - span) + low


def _coordinate(
    g: Node, n: int, mode: str, padding: str, align_corners: bool, is_volume: bool
) -> Node:
    """Map [-1, 1] to an axis of ``n`` pixels, and bring it inside according to ``padding``."""
    scale, shift = ((n - 1) / 2, (n - 1) / 2) if align_corners else (n / 2, (n - 1) / 2)
    x = g * scale + shift
    if padding == "zeros" or mode == "bicubic":
        return x
    if padding == "reflection":
        x = _reflected(x, n, align_corners)
    if n == 1:
        return full(0.0, x.shape, x.dtype)
    # At the border the gradient is 0; NaN selects the first pixel of an image and the last of a
    # volume, as in torch.
    of_nan = number(n - 1.0 if is_volume else 0.0, x.dtype)
    return ops.where(ops.EQ(x, x), HARDTANH(x, low=0.0, high=n - 1.0), of_nan)


class _Corners(NamedTuple):
    """Interpolation from surrounding pixels, as nodes.

    ``sizes``: shape of the image.
    """

    sizes: tuple[int, ...]
    mode: str
    padding: str
    align_corners: bool

    def __call__(self, x: Node, *along: Node) -> Node:
        """Return samples (N, M, 1, C) of images (N, *S, C) at coordinates along each axis.

        ``along`` has the integer parts (N, M, 1, 1), then the fractions.
        """
        rank, dtype = len(self.sizes), x.dtype
        steps, polynomials = TAPS[self.mode]
        weights = [[_polynomial(row, fraction) for row in polynomials] for fraction in along[rank:]]
        axes, total = tuple(range(1, rank + 1)), None
        for corner in itertools.product(range(len(steps)), repeat=rank):
            indices, is_inside = [], None
            weight = number(1.0, dtype)
            for lower, size, of_axis, i in zip(along, self.sizes, weights, corner, strict=False):
                index = self._inside(lower + steps[i], size)
                fits = ops.LOGICAL_AND(
                    ops.GE(index, number(0, dtype)), ops.LT(index, number(size, dtype))
                )
                is_inside = fits if is_inside is None else ops.LOGICAL_AND(is_inside, fits)
                indices.append(ops.cast(ops.where(fits, index, number(0, dtype)), "int32"))
                weight = of_axis[i] if weight.operation.name == "number" else weight * of_axis[i]
            assert is_inside is not None
            # Outside is 0: multiplying an infinite pixel by 0 would give NaN.
            point = ops.where(is_inside, gather(x, indices, axes), number(0, dtype))
            total = point * weight if total is None else total + point * weight
        assert total is not None
        return total

    def _inside(self, index: Node, n: int) -> Node:
        if self.mode != "bicubic" or self.padding == "zeros":
            return index
        if self.padding == "reflection":
            index = _reflected(index, n, self.align_corners)
        return ops.CLAMP(index, low=0.0, high=n - 1.0)


def _polynomial(coefficients: Sequence[float], x: Node) -> Node:
    """Evaluate a polynomial with coefficients in ascending order."""
    total = number(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def _sampled(x: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    n, channels, sizes = x.shape[0], x.shape[1], x.shape[2:]
    rank, outer = len(sizes), grid.shape[1:-1]
    flat = reshape(grid, (n, math.prod(outer), rank))
    # The last coordinate of a point belongs to the first axis.
    along = [reshape(narrow(flat, 2, rank - 1 - a, 1), flat.shape[:2]) for a in range(rank)]

    def split(*points: Node) -> tuple[Node, ...]:
        """Return the floors, or nearest pixels, and the fractions."""
        coordinates = [
            _coordinate(g, size, mode, padding, align_corners, rank == 3)
            for g, size in zip(points, sizes, strict=True)
        ]
        floors = [(ops.ROUND if mode == "nearest" else ops.FLOOR)(v) for v in coordinates]
        fractions = [v - floor for v, floor in zip(coordinates, floors, strict=True)]
        if rank == 3:  # NaN and infinity are outside, as in torch; images give NaN
            fractions = [ops.where(ops.EQ(r, r), r, number(0.0, r.dtype)) for r in fractions]
        return *floors, *fractions

    floors_and_fractions = all_computed(split, *along)
    m = math.prod(outer)
    images = transpose(x, (0, *range(2, x.ndim), 1))
    along = [reshape(t, (n, m, *(1,) * rank)) for t in floors_and_fractions]
    # Kernels read adjacent channels together.
    corners: Any = _Corners(sizes, mode, padding, align_corners)
    result = computed(corners, dense(images), *along)
    return transpose(reshape(result, (n, *outer, channels)), (0, rank + 1, *range(1, rank + 1)))


@operation
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images at arbitrary points.

    Parameters
    ----------
    input : array (N, C, H, W) or (N, C, D, H, W)
        Floating point.
    grid : array (N, *S, 2) or (N, *S, 3)
        Points as (x, y) or (x, y, z), from -1 to 1 inside the image; same dtype as ``input``. S has
        as many axes as an image.
    mode : {"bilinear", "nearest", "bicubic"}
        Interpolation; trilinear for volumes, which do not support ``"bicubic"``.
    padding_mode : {"zeros", "border", "reflection"}
        Values outside the image.
    align_corners : bool, optional
        Whether -1 and 1 refer to the centers of the border pixels, rather than their outer edges.

    Returns
    -------
    array (N, C, *S)
        Channels-last; same dtype as ``input``.

    Raises
    ------
    TypeError
        A dtype is not floating point, or they differ.
    ValueError
        The shapes do not match, or a mode is unknown.

    Notes
    -----
    bfloat16 and float16 are computed in float32. Differentiable to any order. Source:
    ``torch.nn.functional.grid_sample``.
    """
    name = "grid_sample"
    check_float(name, input=input, grid=grid)
    if input.dtype != grid.dtype:
        raise TypeError(f"{name}: grid must have dtype {input.dtype}, got {grid.dtype}")
    rank = input.ndim - 2
    if rank not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != rank:
        raise ValueError(
            f"{name}: grid must have shape (N, *S, 2) for input (N, C, H, W), or 3 for "
            f"(N, C, D, H, W), got {grid.shape} and {input.shape}"
        )
    if grid.shape[0] != input.shape[0]:
        raise ValueError(f"{name}: grid must have {input.shape[0]} images, got {grid.shape[0]}")
    if mode not in TAPS or (mode == "bicubic" and rank == 3):
        modes = ", ".join(map(repr, TAPS)) if rank == 2 else "'nearest', 'bilinear'"
        raise ValueError(f"{name}: mode must be one of {modes}, got {mode!r}")
    if padding_mode not in _PADDINGS:
        paddings = ", ".join(map(repr, _PADDINGS))
        raise ValueError(f"{name}: padding_mode must be one of {paddings}, got {padding_mode!r}")
    if 0 in input.shape[2:]:
        raise ValueError(f"{name}: input must have points, got shape {input.shape}")
    shape = (*input.shape[:2], *grid.shape[1:-1])
    if 0 in shape:
        return zeros(input.trace, shape, input.dtype)
    wide = dtypes.wide(input.dtype)
    x, points = converted(input, wide), converted(grid, wide)
    result = _sampled(x, points, mode, padding_mode, bool(align_corners))
    return converted(result, input.dtype)
