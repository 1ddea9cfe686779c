# SPDX-License-Identifier: Apache-2.0
"""Resizing of signals, images and volumes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.adaptive_pool import adaptive_avg_pool
from sycl_dnn.functional.pool_windows import check_dtype
from sycl_dnn.functional.resizing import Resize, interpolated, nearest
from sycl_dnn.functional.window import Sizes, batched, per_axis

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["interpolate"]

#: The numbers of axes that a mode is for.
_MODES = {
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "trilinear": (5,),
    "bicubic": (4,),
}
_SMOOTH = ("linear", "bilinear", "trilinear", "bicubic")
_INTEGERS = ("int8", "uint8", "int32")


def _check_mode(x: Tensor, mode: Any, align_corners: bool | None, antialias: bool) -> None:
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if x.ndim not in _MODES[mode]:
        fitting = [m for m, ranks in _MODES.items() if x.ndim in ranks]
        raise ValueError(
            f"interpolate: mode must be one of {', '.join(fitting) or 'none'} for {x.ndim} axes, "
            f"got {mode!r}"
        )
    if align_corners is not None and mode not in _SMOOTH:
        raise ValueError(f"interpolate: align_corners must be None for mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            f"interpolate: antialias must go with mode 'bilinear' or 'bicubic', got {mode!r}"
        )


def _factors(value: Any, rank: int) -> list[float]:
    items = list(value) if isinstance(value, (tuple, list)) else [value] * rank
    try:
        factors = [float(v) for v in items]
    except (TypeError, ValueError):
        raise TypeError(f"interpolate: scale_factor must be numbers, got {value!r}") from None
    if len(factors) != rank or not all(0 < f < math.inf for f in factors):
        raise ValueError(
            f"interpolate: scale_factor must be a positive number or {rank} of them, got {value!r}"
        )
    return factors


def _resizes(
    own: Sizes, size: Any, scale_factor: Any, recompute: bool | None, align_corners: bool
) -> list[Resize]:
    """Return what happens to each spatial axis, from either of ``size`` and ``scale_factor``."""
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"interpolate: size or scale_factor must be given, one of both, got {size!r} and "
            f"{scale_factor!r}"
        )
    if size is not None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor must go with scale_factor")
        sizes = per_axis("interpolate", "size", size, len(own))
        scales = [n / t for n, t in zip(own, sizes, strict=True)]
    else:
        factors = _factors(scale_factor, len(own))
        sizes = tuple(math.floor(n * f) for n, f in zip(own, factors, strict=True))
        if min(sizes) < 1:
            raise ValueError(f"interpolate: scale_factor must leave elements, got {scale_factor!r}")
        pairs = zip(own, sizes, strict=True)
        scales = [n / t for n, t in pairs] if recompute else [1 / f for f in factors]
    if align_corners:
        scales = [(n - 1) / max(t - 1, 1) for n, t in zip(own, sizes, strict=True)]
    return [Resize(*a) for a in zip(own, sizes, scales, strict=True)]


@operation
def interpolate(
    input: dpnp.ndarray | Array,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> dpnp.ndarray | Array:
    """Resize the spatial axes.

    Parameters
    ----------
    input : array (N, C, *S) with one to three spatial axes
        float32, bfloat16 or float16; float64 where the device has it. For ``"nearest"`` and
        ``"nearest-exact"`` also int8, uint8 and int32, without a gradient.
    size : int or tuple, optional
        The result's spatial sizes T.
    scale_factor : float or tuple, optional
        Instead of ``size``: T = floor(S * scale_factor).
    mode : str
        ``"nearest"`` takes element floor(i * S / T), ``"nearest-exact"`` floor((i + 1/2) * S / T);
        ``"linear"``, ``"bilinear"`` and ``"trilinear"`` interpolate one, two and three axes,
        ``"bicubic"`` two; ``"area"`` averages as ``adaptive_avg_pool2d``.
    align_corners : bool, optional
        Whether the centres of the corner elements stay in place, instead of the outer edges.
    recompute_scale_factor : bool, optional
        Whether coordinates follow from S / T where ``scale_factor`` is given.
    antialias : bool
        Whether the kernel is stretched where an image shrinks; bilinear and bicubic only.

    Returns
    -------
    array (N, C, *T)
        Its memory is channels-last.

    Raises
    ------
    ValueError
        Sizes, mode and number of axes do not fit, or not exactly one of ``size`` and
        ``scale_factor`` is given.
    TypeError
        The mode does not know the dtype.

    Notes
    -----
    Source: oneDNN developer guide, "Resampling". What that lacks, such as aligned corners, is a
    product with a constant matrix for each axis ("Matmul"), or copies of pieces ("Reorder").
    """
    _check_mode(input, mode, align_corners, antialias)
    is_nearest = mode.startswith("nearest")
    check_dtype("interpolate", input, _INTEGERS if is_nearest else ())
    x = batched("interpolate", input, input.ndim - 2, "(N, C, *S)")
    axes = _resizes(x.shape[2:], size, scale_factor, recompute_scale_factor, bool(align_corners))
    if is_nearest:
        return nearest(x, axes, mode == "nearest-exact")
    if mode == "area":
        return adaptive_avg_pool("interpolate", len(axes), x, tuple(a.n_out for a in axes))
    return interpolated(x, axes, mode == "bicubic", bool(align_corners), bool(antialias))
