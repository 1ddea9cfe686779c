# SPDX-License-Identifier: Apache-2.0
"""Shapes of convolutions, pooling and interpolation, in both data formats."""

from __future__ import annotations

from sycl_dnn.graph.shapes import Attrs, Broken, Shape, Shapes, channels


def _spatial(shape: Shape, a: Attrs) -> Shape:
    return shape[2:] if a["data_format"] == "NCX" else shape[1:-1]


def _with_spatial(batch: int, channels: int, spatial: Shape, a: Attrs) -> Shape:
    return (batch, channels, *spatial) if a["data_format"] == "NCX" else (batch, *spatial, channels)


def split_weights(shape: Shape, a: Attrs) -> tuple[int, int, Shape]:
    """Return the two channel counts, in the order of the format's letters, and the kernel."""
    name = a["weights_format"]
    if len(shape) < 3:
        raise Broken("weights", "have two axes of channels and a kernel", shape)
    channels, kernel = shape[-2:], shape[:-2]
    if name.endswith("X"):
        channels, kernel = shape[:2], shape[2:]
    return channels[0], channels[1], kernel


def _check_lengths(a: Attrs, ndim: int) -> None:
    for name in ("strides", "dilations", "pads_begin", "pads_end", "kernel"):
        value = a.get(name)
        padded = name.startswith("pads")
        if value is None:
            continue
        if len(value) != ndim:
            raise Broken(name, f"have {ndim} numbers, one for each spatial axis", value)
        if min(value, default=1) < (0 if padded else 1):
            raise Broken(name, f"be {'non-negative' if padded else 'positive'}", value)


def _ones(value: tuple[int, ...] | None, n: int) -> tuple[int, ...]:
    return tuple(value) if value else (1,) * n


def _window(spatial: Shape, kernel: Shape, a: Attrs, up: bool = False) -> Shape:
    """Return the sizes of what windows give, rounded up for ``ceil``."""
    _check_lengths(a, len(spatial))
    dilations = _ones(a.get("dilations"), len(spatial))
    auto = a.get("auto_pad", "None")
    made = []
    for i, n in enumerate(spatial):
        stride, reach = a["strides"][i], dilations[i] * (kernel[i] - 1) + 1
        if auto.startswith("SAME"):
            made.append(-(-n // stride))
            continue
        pads = 0 if auto == "VALID" else a["pads_begin"][i] + a["pads_end"][i]
        span = n + pads - reach
        if span < 0:
            raise Broken("src", f"be at least as large as the window ({reach}) with padding", n)
        made.append((-(-span // stride) if up else span // stride) + 1)
    return tuple(made)


def _check_channels(name: str, given: int, wanted: int, shape: Shape) -> None:
    if given != wanted:
        raise Broken(name, f"have {wanted} input channels in a group", shape)


def conv(s: Shapes, a: Attrs) -> list[Shape]:
    """Weights are O, I/groups and the kernel."""
    src, weights = s["src"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    outputs, inputs = (first, second) if a["weights_format"] == "OIX" else (second, first)
    _check_channels("weights", inputs * a["groups"], channels(src, a), weights)
    _check_kernel(src, kernel, weights)
    if s.get("bias") is not None and s["bias"] != (outputs,):
        raise Broken("bias", f"have shape {(outputs,)}", s["bias"])
    return [_with_spatial(src[0], outputs, _window(_spatial(src, a), kernel, a), a)]


def _check_kernel(src: Shape, kernel: Shape, weights: Shape) -> None:
    if len(kernel) != len(src) - 2:
        raise Broken("weights", f"have {len(src)} axes as src has", weights)


def given_shape(name: str):
    """Return the rule that an attribute says the shape."""

    def rule(s: Shapes, a: Attrs) -> list[Shape] | None:
        shape = a.get(name)
        return None if shape is None else [tuple(shape)]

    return rule


def conv_transpose(s: Shapes, a: Attrs) -> list[Shape]:
    """Weights are I, O/groups and the kernel."""
    src, weights = s["src"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    inputs, outputs = (first, second) if a["weights_format"] == "IOX" else (second, first)
    _check_channels("weights", inputs, channels(src, a), weights)
    _check_kernel(src, kernel, weights)
    spatial = _spatial(src, a)
    _check_lengths(a, len(spatial))
    extra = a.get("output_padding") or (0,) * len(spatial)
    auto = a["auto_pad"]
    made = []
    for i, n in enumerate(spatial):
        reach = a["dilations"][i] * (kernel[i] - 1) + 1
        pads = 0 if auto == "VALID" else a["pads_begin"][i] + a["pads_end"][i]
        full = a["strides"][i] * (n - 1) + reach - pads + extra[i]
        made.append(n * a["strides"][i] if auto.startswith("SAME") else full)
    return [_with_spatial(src[0], outputs * a["groups"], tuple(made), a)]


def conv_transpose_backward_data(s: Shapes, a: Attrs) -> list[Shape]:
    """Convolve diff_dst."""
    diff, weights = s["diff_dst"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    inputs = first if a["weights_format"] == "IOX" else second
    _check_kernel(diff, kernel, weights)
    return [_with_spatial(diff[0], inputs, _window(_spatial(diff, a), kernel, a), a)]


def pool(s: Shapes, a: Attrs) -> list[Shape]:
    """One window of size ``kernel`` for each element of the result."""
    src = s["src"]
    up = a["rounding_type"] == "ceil"
    spatial = _window(_spatial(src, a), tuple(a["kernel"]), a, up)
    return [_with_spatial(src[0], channels(src, a), spatial, a)]


def interpolate(s: Shapes, a: Attrs) -> list[Shape] | None:
    """Spatial sizes are given, or scaled and rounded down."""
    src = s["src"]
    spatial = _spatial(src, a)
    if (a.get("sizes") is None) == (a.get("scales") is None):
        if s.get("sizes") is not None:
            return None
        raise Broken("sizes", "be given, or else scales, but not both", a.get("sizes"))
    given = a["sizes"] if a.get("sizes") is not None else a["scales"]
    if len(given) != len(spatial):
        raise Broken("sizes", f"have {len(spatial)} numbers, one for each spatial axis", given)
    if a.get("sizes") is not None:
        return [_with_spatial(src[0], channels(src, a), tuple(given), a)]
    sizes = tuple(int(n * scale) for n, scale in zip(spatial, given, strict=True))
    return [_with_spatial(src[0], channels(src, a), sizes, a)]
