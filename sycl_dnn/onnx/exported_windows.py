# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools, resizing and padding as ONNX's operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sycl_dnn.onnx.written_graph import Ints, Recording, Row, Rows, Value, unsupported

ROWS = Rows()
row = ROWS.row
_RANKS = (1, 2, 3)


def _per_axis(value: Any, n: int) -> list[int]:
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    return values * n if len(values) == 1 else values


def _batched(g: Recording, x: Value, rank: int, write: Callable[[Any], Any]) -> Any:
    """Write nodes over a batch; a single image is a batch of one."""
    if x.ndim > rank + 1:
        return write(x)
    return g.node("Squeeze", write(g.node("Unsqueeze", x, Ints((0,)))), Ints((0,)))


def _pads(a: Any, kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Return the padding before each axis, then the padding after each axis."""
    n, padding = len(kernel), a.padding
    if padding == "valid":
        pairs = [(0, 0)] * n
    elif padding == "same":
        totals = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
        pairs = [(t // 2, t - t // 2) for t in totals]
    else:
        pairs = [p if isinstance(p, (tuple, list)) else (p, p) for p in _per_axis(padding, n)]
    return [p[0] for p in pairs] + [p[1] for p in pairs]


def _convolution(rank: int, op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        kernel, dilations = a.weight.shape[2:], _per_axis(a.dilation, rank)
        attributes = {"kernel_shape": list(kernel), "strides": _per_axis(a.stride, rank),
                 "dilations": dilations, "pads": _pads(a, kernel, dilations),
                 "group": a.groups}  # fmt: skip
        if op == "ConvTranspose":
            attributes["output_padding"] = _per_axis(a.output_padding, rank)
        bias = None if a.bias is None else g.cast(a.bias, a.input.dtype)
        return _batched(g, a.input, rank, lambda x: g.node(op, x, a.weight, bias, **attributes))

    return write


ROWS |= {f"conv{n}d": _convolution(n, "Conv") for n in _RANKS}
ROWS |= {f"conv_transpose{n}d": _convolution(n, "ConvTranspose") for n in _RANKS}


def _windows(name: str, a: Any, output: Value, rank: int) -> dict[str, Any]:
    """Return the attributes of a pool, if ONNX's windows are the same."""
    kernel = _per_axis(a.kernel_size, rank)
    stride = kernel if a.stride in (None, ()) else _per_axis(a.stride, rank)
    dilations = _per_axis(getattr(a, "dilation", 1), rank)
    padding = _per_axis(getattr(a, "padding", 0), rank)
    if a.ceil_mode:
        for i, size in enumerate(a.input.shape[-rank:]):
            left = size + 2 * padding[i] - dilations[i] * (kernel[i] - 1) - 1
            if math.ceil(left / stride[i]) + 1 != output.shape[output.ndim - rank + i]:
                raise unsupported(name, "with ceil_mode a window would start in the padding")
    return {"kernel_shape": kernel, "strides": stride, "pads": padding * 2,
            "ceil_mode": int(a.ceil_mode), "dilations": dilations}  # fmt: skip


def _pool(name: str, op: str, refused: dict[str, Any], rank: int) -> Row:
    """Return the row of a pool; other values of arguments than ``refused`` have no operator."""

    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        for argument, value in refused.items():
            if getattr(a, argument, value) != value:
                raise unsupported(f"{name}{rank}d", f"{argument} must be {value}")
        attributes = _windows(f"{name}{rank}d", a, outputs[0], rank)
        if hasattr(a, "count_include_pad"):
            attributes["count_include_pad"] = int(a.count_include_pad)
        return _batched(g, a.input, rank, lambda x: g.node(op, x, **attributes))

    return write


def _lp_pool(rank: int) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        if a.norm_type % 2:
            raise unsupported(f"lp_pool{rank}d", f"norm_type must be even, got {a.norm_type}")
        attributes = _windows(f"lp_pool{rank}d", a, outputs[0], rank)
        p, dtype = int(a.norm_type), outputs[0].dtype

        def mean(x: Any) -> Any:
            """Write it with windows beyond the image, all of whose elements torch counts."""
            area = math.prod(attributes["kernel_shape"])
            powers = g.node("Pow", x, g.number(p, dtype))
            total = g.node(
                "Mul", g.node("AveragePool", powers, **attributes), g.number(area, dtype)
            )
            return g.node("Pow", total, g.number(1 / p, dtype))

        def pool(x: Any) -> Any:
            return mean(x) if a.ceil_mode else g.node("LpPool", x, p=p, **attributes)

        return _batched(g, a.input, rank, pool)

    return write


def _adaptive(rank: int, kind: str) -> Row:
    name = f"adaptive_{'avg' if kind == 'Average' else 'max'}_pool{rank}d"

    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        if getattr(a, "return_indices", False):
            raise unsupported(name, "return_indices must be False")
        sizes, output_sizes = a.input.shape[-rank:], outputs[0].shape[-rank:]
        if set(output_sizes) == {1}:
            return _batched(g, a.input, rank, lambda x: g.node(f"Global{kind}Pool", x))
        if any(n % m for n, m in zip(sizes, output_sizes, strict=True)):
            raise unsupported(name, f"output_size must divide {sizes}, got {output_sizes}")
        kernel = [n // m for n, m in zip(sizes, output_sizes, strict=True)]
        op = f"{kind}Pool"
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": kernel}
        return _batched(g, a.input, rank, lambda x: g.node(op, x, **attributes))

    return write


for _n in _RANKS:
    ROWS |= {
        f"max_pool{_n}d": _pool("max_pool", "MaxPool", {"return_indices": False}, _n),
        f"avg_pool{_n}d": _pool("avg_pool", "AveragePool", {"divisor_override": None}, _n),
        f"lp_pool{_n}d": _lp_pool(_n), f"adaptive_avg_pool{_n}d": _adaptive(_n, "Average"),
        f"adaptive_max_pool{_n}d": _adaptive(_n, "Max"),
    }  # fmt: skip


@row("pad")
def _pad(g: Recording, a: Any, outputs: list[Value]) -> Any:
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    pairs = list(zip(a.pad[::2], a.pad[1::2], strict=True))[::-1]
    first = a.input.ndim - len(pairs)
    widths = [*(p[0] for p in pairs), *(p[1] for p in pairs)]
    value = None if a.mode != "constant" else g.number(a.value or 0, outputs[0].dtype)
    return g.node("Pad", a.input, Ints(widths), value, Ints(range(first, a.input.ndim)),
                  mode=modes[a.mode])  # fmt: skip


@row("fold")
def _fold(g: Recording, a: Any, outputs: list[Value]) -> Any:
    arguments = {"strides": a.stride, "dilations": a.dilation, "pads": a.padding}
    attributes: dict[str, Any] = {name: _per_axis(v, 2) for name, v in arguments.items()}
    attributes["pads"] *= 2
    sizes = Ints(_per_axis(a.output_size, 2)), Ints(_per_axis(a.kernel_size, 2))
    x = a.input if a.input.ndim == 3 else g.node("Unsqueeze", a.input, Ints((0,)))
    image = g.node("Col2Im", x, *sizes, **attributes)
    return image if a.input.ndim == 3 else g.node("Squeeze", image, Ints((0,)))


#: ONNX's modes, coordinates and rounding.
_RESIZED = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "linear": ("linear", "half_pixel", None), "bilinear": ("linear", "half_pixel", None),
    "trilinear": ("linear", "half_pixel", None), "bicubic": ("cubic", "half_pixel", None),
}  # fmt: skip


@row("interpolate")
def _interpolate(g: Recording, a: Any, outputs: list[Value]) -> Any:
    if a.mode not in _RESIZED:
        raise unsupported("interpolate", f"mode must be one of {', '.join(_RESIZED)}, got {a.mode}")
    mode, coordinates, rounding = _RESIZED[a.mode]
    coordinates = "align_corners" if a.align_corners else coordinates
    attributes: dict[str, Any] = {
        "mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": rounding,
        # torch's coefficients: Pillow's with antialiasing.
        "cubic_coeff_a": (-0.5 if a.antialias else -0.75) if mode == "cubic" else None,
        "antialias": 1 if a.antialias else None, "exclude_outside": 1 if a.antialias else None,
    }  # fmt: skip
    rank = a.input.ndim - 2
    if a.scale_factor is not None and not a.recompute_scale_factor and not a.align_corners:
        if outputs[0].shape == a.input.shape and set(_per_axis(a.scale_factor, rank)) != {1}:
            rule = "scale_factor must change a size: runtimes take Resize of equal sizes for a copy"
            raise unsupported("interpolate", rule)
        scales = g.number([1.0, 1.0, *_per_axis(a.scale_factor, rank)], "float32")
        return g.node("Resize", a.input, None, scales, **attributes)
    return g.node("Resize", a.input, None, None, Ints(outputs[0].shape), **attributes)


@row("grid_sample")
def _grid_sample(g: Recording, a: Any, outputs: list[Value]) -> Any:
    mode = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[a.mode]
    return g.node("GridSample", a.input, a.grid, mode=mode, padding_mode=a.padding_mode,
                  align_corners=int(bool(a.align_corners)))  # fmt: skip


@row("affine_grid")
def _affine_grid(g: Recording, a: Any, outputs: list[Value]) -> Any:
    sizes, n_axes = a.size[2:], len(a.size) - 2
    if not a.align_corners or 1 not in sizes:
        return g.node("AffineGrid", a.theta, Ints(a.size), align_corners=int(bool(a.align_corners)))
    # Of the ends of an axis of one element, torch takes the middle; runtimes differ.
    axes = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in sizes]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(sizes)], -1)
    base = g.number(places.reshape(-1, n_axes + 1), outputs[0].dtype)
    return g.reshaped(g.node("MatMul", base, g.node("Transpose", a.theta, perm=(0, 2, 1))),
                      outputs[0].shape)  # fmt: skip
