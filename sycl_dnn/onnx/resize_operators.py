# SPDX-License-Identifier: Apache-2.0
"""Resize, as a product with host-computed weights along each axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.model_graph import check_host_size, check_size
from sycl_dnn.onnx.operator_registry import Call, F, checked_axes, operator


class Stretch(NamedTuple):
    """The resizing of one axis."""

    size: int
    new: int
    #: As float32 if the model gives it.
    scale: float | np.float32
    #: Start and end of the region of interest.
    region: tuple[float, float] = (0.0, 1.0)


def _sizes(call: Call, x: Any, scales: Any, sizes: Any) -> tuple[tuple[int, ...], list[Stretch]]:
    """Return the axes to resize, and their parameters."""
    axes = checked_axes(call, call.get("axes", range(len(x.shape))), len(x.shape))
    old = [x.shape[a] for a in axes]
    if scales is not None and np.size(scales):
        # Products in float32, as in ONNX Runtime: 10 rows by 0.7 are 7, but float32(0.7) < 0.7.
        factors = np.ravel(scales).astype(np.float32)
        return axes, [
            Stretch(n, int(np.float32(n) * f), f) for n, f in zip(old, factors, strict=True)
        ]
    if sizes is None or not np.size(sizes):
        raise ValueError("scales or sizes must be given")
    new = call.ints(sizes)
    policy = call.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return axes, [Stretch(n, m, m / n) for n, m in zip(old, new, strict=True)]
    choose = min if policy == "not_larger" else max
    factor = choose(m / n for n, m in zip(old, new, strict=True))
    return axes, [Stretch(n, math.floor(factor * n + 0.5), factor) for n in old]


def _half_pixel(i: np.ndarray, a: Stretch) -> np.ndarray:
    return (i + 0.5) / a.scale - 0.5


def _aligned(i: np.ndarray, a: Stretch) -> np.ndarray:
    length = a.size * a.scale
    return i * (a.size - 1) / (length - 1) if length > 1 else i * 0.0


def _symmetric(i: np.ndarray, a: Stretch) -> np.ndarray:
    # In this order the rounding of coordinates between two elements is not left to an error.
    return (i + 0.5 - a.new / 2) / a.scale + a.size / 2 - 0.5


def _cropped(i: np.ndarray, a: Stretch) -> np.ndarray:
    start, end = map(np.float32, a.region)  # in float32, as the region is given
    i = i.astype(np.float32)
    if a.new > 1:
        return start * (a.size - 1) + i * (end - start) * (a.size - 1) / (a.new - 1)
    return np.full(1, 0.5 * (start + end) * (a.size - 1))


#: Source coordinates of output elements, by coordinate transformation mode.
_COORDINATES: dict[str, Callable[[np.ndarray, Stretch], np.ndarray]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": lambda i, a: _half_pixel(i, a) if a.new > 1 else i * 0.0,
    "asymmetric": lambda i, a: i / a.scale,
    "align_corners": _aligned,
    "half_pixel_symmetric": _symmetric,
    "tf_crop_and_resize": _cropped,
}
_NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _weights(call: Call, axis: Stretch, places: np.ndarray) -> np.ndarray:
    """Return the weight of each source element in each output element, (new, old)."""
    is_linear = call.get("mode", "nearest") == "linear"
    shrink = min(axis.scale, 1.0) if call.get("antialias", 0) else 1.0
    reach = (1 if is_linear else 2) / shrink
    check_host_size((axis.new, max(axis.size, 2 * math.ceil(reach) + 2)))
    taps = np.floor(places)[:, None] + np.arange(-math.ceil(reach), math.ceil(reach) + 2)
    distance = np.abs(taps - places[:, None]) * shrink
    tap_weights = np.maximum(1 - distance, 0) if is_linear else \
        _cubic(distance, call.get("cubic_coeff_a", -0.75))  # fmt: skip
    outside = (taps < 0) | (taps >= axis.size)
    if call.get("exclude_outside", 0):
        tap_weights = np.where(outside, 0.0, tap_weights)
    if call.get("exclude_outside", 0) or call.get("antialias", 0):
        tap_weights = tap_weights / tap_weights.sum(1, keepdims=True)
    weights = np.zeros((axis.new, axis.size))
    rows = np.broadcast_to(np.arange(axis.new)[:, None], taps.shape)
    np.add.at(weights, (rows, np.clip(taps, 0, axis.size - 1).astype(int)), tap_weights)
    return weights


def _by_interpolate(call: Call, x: Any, axes: Any, stretches: list[Stretch], mode: str) -> Any:
    """Use ``interpolate`` if it is equivalent; else return None."""
    rank, way = len(x.shape), call.get("coordinate_transformation_mode", "half_pixel")
    inner = all(a > 1 or s.new == s.size for a, s in zip(axes, stretches, strict=True))
    if rank not in (3, 4, 5) or not inner or call.get("antialias", 0):
        return None
    exact = all(abs(s.size * s.scale - s.new) < 1e-4 for s in stretches)
    size = list(x.shape)
    for axis, stretch in zip(axes, stretches, strict=True):
        size[axis] = stretch.new
    target = tuple(size[2:])
    if mode == "linear" and way in ("half_pixel", "pytorch_half_pixel", "align_corners") and exact:
        if way == "pytorch_half_pixel" and 1 in target:
            return None
        name = {3: "linear", 4: "bilinear", 5: "trilinear"}[rank]
        return F.interpolate(x, target, mode=name, align_corners=way == "align_corners")
    whole = all(float(s.scale).is_integer() for s in stretches)
    floors = call.get("nearest_mode", "round_prefer_floor") == "floor" and way == "asymmetric"
    rounds = way == "half_pixel" and "nearest_mode" not in call.node.attributes
    return F.interpolate(x, target, mode="nearest") if whole and (floors or rounds) and \
        mode == "nearest" else None  # fmt: skip


def _resized(call: Call, x: Any, region: Any, scales: Any, sizes: Any, way: str) -> Any:
    axes, stretches = _sizes(call, x, scales, sizes)
    mode = call.get("mode", "nearest")
    mode = {"bilinear": "linear", "trilinear": "linear"}.get(mode, mode)
    if mode not in ("nearest", "linear", "cubic") or way not in _COORDINATES:
        call.refuse(f"mode {mode} with {way} is not supported")
    if "int" in name_of(x) and mode != "nearest":  # rounded once, not along each axis
        info = np.iinfo(name_of(x))
        resized = _resized(call, F.astype(x, "float32"), region, scales, sizes, way)
        resized = F.clamp(F.round(resized), float(info.min), float(info.max))
        return F.astype(resized, name_of(x))
    new = dict(zip(axes, (s.new for s in stretches), strict=True))
    check_size([new.get(i, n) for i, n in enumerate(x.shape)])
    if min(s.new for s in stretches) < 1 or min(s.size for s in stretches) < 1:
        raise ValueError("no axis may be empty")
    simple = _by_interpolate(call, x, axes, stretches, mode) if call.op == "Resize" and \
        way == call.get("coordinate_transformation_mode", "half_pixel") else None  # fmt: skip
    if simple is not None:
        return simple
    outside = []
    for i, (axis, stretch) in enumerate(zip(axes, stretches, strict=True)):
        if way == "tf_crop_and_resize":
            stretch = stretch._replace(region=(float(region[i]), float(region[i + len(axes)])))
        elif stretch.new == stretch.size and (stretch.scale == 1 or call.get("antialias", 0)):
            continue  # antialiasing leaves axes whose size remains, as in torch and ONNX Runtime
        check_host_size((stretch.new,))
        elements = np.arange(stretch.new, dtype=np.result_type(stretch.scale))
        places = _COORDINATES[way](elements, stretch)
        if way == "tf_crop_and_resize":
            outside.append((axis, (places < 0) | (places > stretch.size - 1)))
        x = _along(call, x, axis, stretch, places, mode)
    return _extrapolated(call, x, outside)


def _along(call: Call, x: Any, axis: int, stretch: Stretch, places: Any, mode: str) -> Any:
    if mode == "nearest":
        rule = call.get("nearest_mode", _early_rule(call, stretch))
        index = np.clip(_NEAREST[rule](places), 0, stretch.size - 1).astype(np.int64)
        return F.index_select(x, axis, call.device(index))
    dtype = name_of(x)
    wide = dtype if dtype == "float64" else "float32"
    weights = _weights(call, stretch, places).T.astype(wide)
    moved = F.movedim(F.astype(x, wide), axis, -1)
    resized = F.matmul(moved, call.device(np.ascontiguousarray(weights)))
    return F.astype(F.movedim(resized, -1, axis), dtype)


def _early_rule(call: Call, stretch: Stretch) -> str:
    """Return the rounding of versions without ``nearest_mode``; for 10, ONNX Runtime's."""
    if call.op == "Upsample" or (call.version == 10 and stretch.scale >= 1):
        return "floor"
    return "ceil" if call.version == 10 else "round_prefer_floor"


def _extrapolated(call: Call, x: Any, outside: list[tuple[int, np.ndarray]]) -> Any:
    for axis, is_outside in outside:
        if is_outside.any():
            shape = [-1 if i == axis else 1 for i in range(len(x.shape))]
            fill = F.full_like(x, call.get("extrapolation_value", 0.0))
            x = F.where(call.device(is_outside.reshape(shape)), fill, x)
    return x


@operator("Upsample", host=(1,))
def _upsample(call: Call, x: Any, scales: Any = None) -> Any:
    factors = call.get("scales", scales)
    if factors is None:
        factors = [1.0, 1.0, call.need("height_scale"), call.need("width_scale")]
    return _resized(call, x, None, factors, None, "asymmetric")


@operator("Resize", 10, host=(1,))
def _early_resize(call: Call, x: Any, scales: Any) -> Any:
    return _resized(call, x, None, scales, None, "asymmetric")


@operator("Resize", 11, host=(1, 2, 3))
def _resize(call: Call, x: Any, region: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    way = call.get("coordinate_transformation_mode", "half_pixel")
    return _resized(call, x, region, scales, sizes, way)
