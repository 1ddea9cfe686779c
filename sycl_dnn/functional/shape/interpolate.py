# SPDX-License-Identifier: Apache-2.0
"""Resizing of signals, images and volumes.

``scale`` is input elements per output element, as PyTorch computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn._core import algorithm, prop_kind
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.conv.windows import Sizes, Span, batched, cut, per_axis
from sycl_dnn.functional.index.selected import selected
from sycl_dnn.functional.pool.adaptive import adaptive_avg_pool
from sycl_dnn.functional.pool.windowed import check_dtype
from sycl_dnn.functional.product.along_axes import Taps, along_axes
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.choice import is_missing
from sycl_dnn.kernels.launching import in_layout
from sycl_dnn.kernels.resized import resized, resized_gradient
from sycl_dnn.lower.node_lowering import computed, meaning
from sycl_dnn.ops import shape as ops
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, backward, rule_for
from sycl_dnn.trace.pointwise import broadcast_to
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped


class Resize(NamedTuple):
    """The size of one axis before and after, and input elements per output element."""

    n_in: int
    n_out: int
    scale: float


#: The support and the weight function of an interpolation kernel.
Kernel = tuple[float, Callable[[np.ndarray, float], np.ndarray]]


def nearest_indices(n_in: int, n_out: int, scale: float, exact: bool) -> np.ndarray:
    """Return the source index of each output element, rounded in float32 as in PyTorch."""
    positions, scale = np.arange(n_out), np.float32(scale)
    if exact:
        # As centers, rounded once as by a fused multiply-add: that decides ties.
        centers = (np.float64(scale) * (positions + 0.5) - 0.5).astype(np.float32)
        indices = np.floor(np.maximum(centers, 0) + np.float32(0.5))
    else:
        indices = np.floor(positions.astype(np.float32) * scale)
    return np.minimum(indices.astype(np.int64), n_in - 1)


def _centers(n_out: int, scale: float, align_corners: bool) -> np.ndarray:
    """Return the coordinate that each output element samples, in input elements."""
    positions = np.arange(n_out, dtype=np.float64)
    return positions * scale if align_corners else (positions + 0.5) * scale - 0.5


def _triangle(distance: np.ndarray, _: float = 0.0) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


_LINEAR: Kernel = (1.0, _triangle)
_CUBIC: Kernel = (2.0, _cubic)
#: The coefficient of the cubic kernel; with antialiasing PyTorch uses Pillow's.
_A, _A_ANTIALIAS = -0.75, -0.5


def _taps(axis: Resize, cubic: bool, align_corners: bool, antialias: bool) -> Taps:
    """Return the taps of linear or cubic interpolation on an axis, as in torch."""
    n_in, n_out, scale = axis
    if n_in == n_out and (antialias or not cubic):
        return Taps.of(np.eye(n_in))  # regardless of the scale
    if antialias:
        return _antialiased(n_in, n_out, scale, cubic)
    support, kernel = _CUBIC if cubic else _LINEAR
    centers = _centers(n_out, scale, align_corners)
    if not cubic:
        centers = np.maximum(centers, 0)
    first = np.floor(centers).astype(np.int64) - int(support) + 1
    columns = first[:, None] + np.arange(int(2 * support))
    # Clamped at the edge; zero weights are kept, since torch turns infinities there into NaN.
    return Taps(np.clip(columns, 0, n_in - 1), kernel(centers[:, None] - columns, _A), n_in)


def _antialiased(n_in: int, n_out: int, scale: float, cubic: bool) -> Taps:
    """Return the taps of a kernel stretched over the extent of an output element."""
    support, kernel = _CUBIC if cubic else _LINEAR
    stretch = max(scale, 1.0)
    # Centers are at half elements regardless of align_corners, which only determines the scale.
    centers = (np.arange(n_out) + 0.5) * scale
    reach = support * stretch
    columns = np.arange(n_in)
    low = np.maximum((centers - reach + 0.5).astype(np.int64), 0)
    high = np.minimum((centers + reach + 0.5).astype(np.int64), n_in)
    matrix = kernel((columns - centers[:, None] + 0.5) / stretch, _A_ANTIALIAS)
    matrix *= (columns >= low[:, None]) & (columns < high[:, None])
    return Taps.between(low, high, matrix / matrix.sum(axis=1, keepdims=True))


# --- Implementation by oneDNN's resampling, strided copies, or weighted sums


def _resampled(x: Tensor, kind: algorithm, sizes: Sizes) -> Tensor:
    result = x.trace.primitive(
        "resampling_forward",
        {"src": x},
        {"dst": Out((*x.shape[:2], *sizes), x.dtype, "channels_last")},
        ask={"src": "channels_last"},
        prop_kind=x.trace.forward_kind if x.is_float else prop_kind.forward_inference,
        algorithm=kind,
    )
    return result["dst"]


@rule_for("resampling_forward")
def _resampling(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    if entry.params["algorithm"] is algorithm.resampling_linear:
        sizes = grads["dst"].shape[2:]
        primitive = partial(_resampled, kind=entry.params["algorithm"], sizes=sizes)
        result = resized_gradient(entry.args["src"], grads["dst"], primitive)
        if result is not None:
            return {"src": result}
    return backward(trace, "resampling_backward", entry, grads)


def _gathered(x: Tensor, axis: int, indices: np.ndarray) -> Tensor:
    """Gather along one axis of (N, C, *S)."""
    along = [-1 if a == axis else 1 for a in range(x.ndim)]
    return selected(x, x.trace.literal(indices.reshape(along), "int64"), axis)


#: If height and width add up to at most this, PyTorch's kernel ignores the scale of axes whose
#: size is kept or doubled.
_SMALL_IMAGE = 128


def nearest(x: Tensor, axes: list[Resize], exact: bool) -> Tensor:
    """Resize (N, C, *S) to the nearest elements by PyTorch's rules.

    For ``"nearest"`` PyTorch ignores a scale_factor that keeps or doubles the size: always in
    gradients, but in values only for small images. So gradients may refer to different elements.
    """
    plain = axes if exact else [_without_scale(axis) for axis in axes]
    if len(axes) == 2 and sum(axis.n_out for axis in axes) <= _SMALL_IMAGE:
        return _repeated(x, plain, exact)
    indices = [(nearest_indices(*a, exact), nearest_indices(*b, exact))
               for a, b in zip(axes, plain, strict=True)]  # fmt: skip
    if all((a == b).all() for a, b in indices) or not x.is_float:
        return _repeated(x, axes, exact)
    transposed_taps = {
        n: Taps.of(np.eye(x.shape[n])[b].T) for n, (_, b) in enumerate(indices, start=2)
    }

    def gradient(dy: Tensor) -> Tensor:
        # The gradient of this is the function itself.
        result = _untaped(dy, lambda: along_axes(dy, transposed_taps))
        return x.trace.view(dy, result, lambda v: nearest(v, axes, exact))

    return x.trace.view(x, _untaped(x, lambda: _repeated(x, axes, exact)), gradient)


def _untaped(x: Tensor, function: Callable[[], Tensor]) -> Tensor:
    """Return an unrecorded result as another view."""
    with untaped(x.trace):
        result = function()
    return result.view(result.shape, result.strides)


def _without_scale(axis: Resize) -> Resize:
    """Drop the scale of a resizing whose size is kept or doubled."""
    is_kept_or_doubled = axis.n_out in (axis.n_in, 2 * axis.n_in)
    return axis._replace(scale=axis.n_in / axis.n_out) if is_kept_or_doubled else axis


def _repeated(x: Tensor, axes: list[Resize], exact: bool) -> Tensor:
    """Return (N, C, *S) with elements gathered by the resizing of each axis.

    oneDNN rounds as ``nearest-exact`` except for ties; all rules agree if elements are repeated
    equally often. If elements are dropped evenly, a view suffices.
    """
    spans, gathered, sizes = [], {}, []
    for number, axis in enumerate(axes, start=2):
        indices = nearest_indices(*axis, exact)
        step = int(indices[1] - indices[0]) if axis.n_out > 1 else 1
        even = indices[0] + step * np.arange(axis.n_out)
        repeated = np.arange(axis.n_out) * axis.n_in // axis.n_out
        span, size = Span(0, axis.n_in), axis.n_out
        if step and step * axis.n_out <= axis.n_in and (indices == even).all():
            span = Span(int(indices[0]), axis.n_out, step)
        elif axis.n_out % axis.n_in or (indices != repeated).any():
            gathered[number] = indices
        spans.append(span)
        sizes.append(size)
    x = cut(x, spans)
    for number, indices in gathered.items():
        x = _gathered(x, number, indices)
    return x if x.shape[2:] == tuple(sizes) else _enlarged(x, tuple(sizes))


#: Channels that are copied together, faster than elements are converted.
_MANY = 8


def _enlarged(x: Tensor, sizes: Sizes) -> Tensor:
    """Repeat each element of (N, C, *S) equally often along each axis; the gradient is a sum."""
    pairs = list(zip(x.shape[2:], sizes, strict=True))
    split = [*x.shape[:2], *[n for size, _ in pairs for n in (size, 1)]]
    repeated = [*x.shape[:2], *[n for size, more in pairs for n in (size, more // size)]]

    def definition(node: Node) -> Node:
        return ops.reshape(
            ops.broadcast_to(ops.reshape(node, split), repeated), (*x.shape[:2], *sizes)
        )

    if x.dtype in ("float64", "int32"):  # oneDNN rounds integers to float32
        return computed(definition, x)

    def record() -> Tensor:
        if is_missing(x) and x.shape[1] >= _MANY:  # oneDNN would convert, resize, convert back
            rows = in_layout(x, layout.channels_last(x.shape, x.dtype))
            result = broadcast_to(reshape(rows, split), tuple(repeated))
            return reshape(result, (*x.shape[:2], *sizes))
        return _resampled(x, algorithm.resampling_nearest, sizes)

    return meaning(definition, [x], record)


def interpolated(
    x: Tensor, axes: list[Resize], cubic: bool, align_corners: bool, antialias: bool
) -> Tensor:
    """Interpolate (N, C, *S) linearly or cubically."""
    by_sizes = all(a.n_in == a.n_out or a.scale == a.n_in / a.n_out for a in axes)
    is_plain = not (cubic or align_corners or antialias)
    if by_sizes and is_plain:
        sizes = tuple(a.n_out for a in axes)
        kind = algorithm.resampling_linear
        return resized(x, sizes, partial(_resampled, kind=kind, sizes=sizes))
    taps = {
        number: _taps(axis, cubic, align_corners, antialias)
        for number, axis in enumerate(axes, start=2)
    }
    changing = {a: t for a, t in taps.items() if not _is_identity(t.matrix())}
    return along_axes(x, changing) if changing else x


def _is_identity(matrix: np.ndarray) -> bool:
    return len(matrix) == matrix.shape[1] and bool((matrix == np.eye(len(matrix))).all())


# --- interpolate

#: Ranks that each mode supports.
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
        allowed = [m for m, ranks in _MODES.items() if x.ndim in ranks]
        raise ValueError(
            f"interpolate: mode must be one of {', '.join(allowed) or 'none'} for {x.ndim} axes, "
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
    sizes_in: Sizes, size: Any, scale_factor: Any, recompute: bool | None, align_corners: bool
) -> list[Resize]:
    """Return the resizing of each spatial axis, from ``size`` or ``scale_factor``."""
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"interpolate: size or scale_factor must be given, one of both, got {size!r} and "
            f"{scale_factor!r}"
        )
    if size is not None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor must go with scale_factor")
        sizes_out = per_axis("interpolate", "size", size, len(sizes_in))
        scales = [n / t for n, t in zip(sizes_in, sizes_out, strict=True)]
    else:
        factors = _factors(scale_factor, len(sizes_in))
        sizes_out = tuple(math.floor(n * f) for n, f in zip(sizes_in, factors, strict=True))
        if min(sizes_out) < 1:
            raise ValueError(f"interpolate: scale_factor must leave elements, got {scale_factor!r}")
        pairs = zip(sizes_in, sizes_out, strict=True)
        scales = [n / t for n, t in pairs] if recompute else [1 / f for f in factors]
    if align_corners:
        pairs = zip(sizes_in, sizes_out, strict=True)
        scales = [(n - 1) / (t - 1) if t > 1 else 0.0 for n, t in pairs]
    return [Resize(*a) for a in zip(sizes_in, sizes_out, scales, strict=True)]


@operation
def interpolate(
    input: Tensor,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the spatial axes.

    Parameters
    ----------
    input : array (N, C, *S) with one to three spatial axes
        float32, bfloat16 or float16; float64 if the device supports it. ``"nearest"`` and
        ``"nearest-exact"`` also accept int8, uint8 and int32, without a gradient.
    size : int or tuple, optional
        Spatial sizes T of the result.
    scale_factor : float or tuple, optional
        Alternative to ``size``: T = floor(S * scale_factor).
    mode : str
        ``"nearest"`` takes element floor(i * S / T), ``"nearest-exact"`` floor((i + 1/2) * S / T);
        ``"linear"``, ``"bilinear"`` and ``"trilinear"`` interpolate one, two and three axes,
        ``"bicubic"`` two; ``"area"`` averages as ``adaptive_avg_pool2d``.
    align_corners : bool, optional
        Whether to align the centers of the corner elements, rather than their outer edges.
    recompute_scale_factor : bool, optional
        Whether coordinates follow from S / T if ``scale_factor`` is passed.
    antialias : bool
        Whether to widen the kernel when shrinking; bilinear and bicubic only.

    Returns
    -------
    array (N, C, *T)
        Channels-last in memory.

    Raises
    ------
    ValueError
        Sizes, mode and rank are inconsistent, or not exactly one of ``size`` and ``scale_factor``
        is passed.
    TypeError
        The mode does not support the dtype.

    Notes
    -----
    NaN and infinities propagate as in torch, except where oneDNN interpolates: it ignores border
    elements with weight 0.

    Source: oneDNN developer guide, "Resampling". What oneDNN lacks, such as aligned corners, is
    computed by a kernel of weighted sums for each axis, or by strided copies ("Reorder").
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
