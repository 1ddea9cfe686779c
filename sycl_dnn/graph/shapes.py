# SPDX-License-Identifier: Apache-2.0
"""Shape inference: rules that map input shapes and attributes to output shapes.

A rule returns a shape for each output of the row, including omitted ones, or None if it depends on
a tensor's values. Violations raise ``Broken(argument, rule, value)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Shape = tuple[int, ...]
Shapes = Mapping[str, Any]
Attrs = Mapping[str, Any]
#: Shapes and attributes to shapes.
Rule = Callable[[Shapes, Attrs], "list[Any] | None"]


class Broken(Exception):
    """An argument violates a rule."""


def like(*names: str) -> Callable[[Shapes, Attrs], list[Any]]:
    """Return the rule that each output has the shape of the named input."""
    return lambda s, a: [s.get(name) for name in names]


same = like("src")


def _broadcast(*shapes: Shape) -> Shape:
    import numpy as np  # builds, which import the table to write its stub, may lack it

    return np.broadcast_shapes(*shapes)


def broadcast(s: Shapes, a: Attrs) -> list[Shape]:
    """Broadcast two or three operands by NumPy's rule."""
    shapes = [s[n] for n in ("cond", "src_0", "src_1") if n in s]
    if a.get("auto_broadcast") == "none":
        if len(set(shapes)) > 1:
            raise Broken("src_1", f"have the shape of src_0 ({shapes[0]}) without broadcasting",
                         shapes[-1])  # fmt: skip
        return [shapes[0]]
    try:
        return [_broadcast(*shapes)]
    except ValueError:
        raise Broken("src_1", f"broadcast with shape {shapes[-2]}", shapes[-1]) from None


def matmul(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shape of ``(..., M, K) @ (..., K, N)``; the axis of a vector is dropped."""
    left, right = s["src"], s["weights"]
    if not left or not right:
        raise Broken("src", "have at least one axis, as weights", (left, right))
    rows = _swapped(left, a["transpose_a"]) if len(left) > 1 else (1, *left)
    columns = _swapped(right, a["transpose_b"]) if len(right) > 1 else (*right, 1)
    if rows[-1] != columns[-2]:
        raise Broken("weights", f"have {rows[-1]} rows to multiply {left}", right)
    try:
        batch = _broadcast(rows[:-2], columns[:-2])
    except ValueError:
        raise Broken("weights", f"have batch axes that broadcast with {left}", right) from None
    result = (*batch, *([rows[-2]] if len(left) > 1 else []))
    return [(*result, *([columns[-1]] if len(right) > 1 else []))]


def _swapped(shape: Shape, swap: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


def axis_of(a: Attrs, ndim: int, name: str = "axis") -> int:
    """Return an axis counted from the front."""
    axis = a[name]
    if not -ndim <= axis < ndim:
        raise Broken(name, f"be an axis of a tensor with {ndim}", axis)
    return axis % ndim


def concat(s: Shapes, a: Attrs) -> list[Shape]:
    """Require equal sizes except along the axis."""
    shapes = s["src"]
    axis = axis_of(a, len(shapes[0]))
    for other in shapes[1:]:
        if len(other) != len(shapes[0]) or any(
            i != axis and n != m for i, (n, m) in enumerate(zip(other, shapes[0], strict=True))
        ):
            raise Broken("src", f"have the sizes of {shapes[0]} except along axis {axis}", other)
    size = sum(shape[axis] for shape in shapes)
    return [(*shapes[0][:axis], size, *shapes[0][axis + 1 :])]


def axes_of(a: Attrs, ndim: int) -> set[int]:
    """Return the axes of a reduction, counted from the front."""
    return {axis_of({"axes": axis}, ndim, "axes") for axis in a["axes"]}


def reduce(s: Shapes, a: Attrs) -> list[Shape] | None:
    """Drop the axes, or keep them with size 1."""
    if a.get("axes") is None:
        return None
    shape, axes = s["src"], axes_of(a, len(s["src"]))
    if a["keep_dims"]:
        return [tuple(1 if i in axes else n for i, n in enumerate(shape))]
    return [tuple(n for i, n in enumerate(shape) if i not in axes)]


def reshape(s: Shapes, a: Attrs) -> list[Shape]:
    """Resolve -1 by the number of elements, and 0 by the input's size if ``special_zero``."""
    source = s["src"]
    expected = list(a["shape"])
    if a["special_zero"]:
        if len(expected) > len(source) and 0 in expected[len(source) :]:
            raise Broken("shape", f"have zeros where {source} has sizes", a["shape"])
        expected = [n or source[i] for i, n in enumerate(expected)]
    rest = math.prod(n for n in expected if n != -1)
    if expected.count(-1) == 1 and rest and math.prod(source) % rest == 0:
        expected[expected.index(-1)] = math.prod(source) // rest
    if min(expected, default=0) < 0 or math.prod(expected) != math.prod(source):
        raise Broken("shape", f"have {math.prod(source)} elements as {source} has", a["shape"])
    return [tuple(expected)]


def transpose(s: Shapes, a: Attrs) -> list[Shape]:
    """Require ``order`` to be a permutation of the axes."""
    shape, order = s["src"], a["order"]
    axes = list(range(len(shape)))
    if sorted(n + len(axes) if n < 0 else n for n in order) != axes:
        raise Broken("order", f"be a permutation of {len(shape)} axes", order)
    return [tuple(shape[i] for i in order)]


def softmax(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shapes of the result, and of statistics with size 1 along the axis."""
    shape = s["src"]
    axis = axis_of(a, len(shape))
    return [shape, (*shape[:axis], 1, *shape[axis + 1 :])]


def gen_index(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shape of src, whose axis must exist."""
    axis_of(a, len(s["src"]))
    return [s["src"]]


def channels(shape: Shape, a: Attrs, argument: str = "src") -> int:
    """Return the number of channels, by ``data_format``."""
    if len(shape) < 2:
        raise Broken(argument, "have batch and channels", shape)
    return shape[1] if a["data_format"] == "NCX" else shape[-1]


def check_length(s: Shapes, name: str, length: int) -> None:
    """Raise unless a vector has this length."""
    if s.get(name) is not None and s[name] != (length,):
        raise Broken(name, f"have shape {(length,)}, one for each channel", s[name])


def bias_add(s: Shapes, a: Attrs) -> list[Shape]:
    """Require one bias per channel."""
    check_length(s, "bias", channels(s["src"], a))
    return [s["src"]]


def bias_add_backward(s: Shapes, a: Attrs) -> list[Shape]:
    """Return one gradient per channel."""
    return [(channels(s["diff_dst"], a, "diff_dst"),)]


def batch_norm(s: Shapes, a: Attrs) -> list[Shape]:
    """Require statistics and parameters with one element per channel."""
    expected = channels(s["src"], a)
    for name in ("gamma", "beta", "mean", "variance"):
        check_length(s, name, expected)
    return [s["src"], *[(expected,)] * 4]


def layer_norm(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shapes of statistics (leading axes); check those of parameters (last axes)."""
    shape = s["src"]
    first = axis_of(a, len(shape), "begin_norm_axis")
    for name in ("gamma", "beta"):
        if s.get(name) is not None and s[name] != shape[first:]:
            raise Broken(name, f"have shape {shape[first:]}, that of the normalized axes", s[name])
    return [shape, shape[:first], shape[:first]]


def layer_norm_backward(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shapes of the parameters' gradients: the normalized axes."""
    shape = layer_norm(s, a)[0]
    inner = shape[axis_of(a, len(shape), "begin_norm_axis") :]
    return [shape, inner, inner]


def group_norm(s: Shapes, a: Attrs) -> list[Shape]:
    """Return statistics of shape ``(N, groups)``."""
    shape, groups = s["src"], a["groups"]
    expected = channels(shape, a)
    if groups < 1 or expected % groups:
        raise Broken("groups", f"divide the {expected} channels", groups)
    for name in ("gamma", "beta"):
        check_length(s, name, expected)
    return [shape, (shape[0], groups), (shape[0], groups)]


def batch_norm_backward(s: Shapes, a: Attrs) -> list[Shape]:
    """Return one parameter gradient per channel."""
    return batch_norm(s, a)[:3]


# --- Convolutions, pooling and interpolation, in both data formats


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
    """Return the spatial sizes of the result, rounded up for ``ceil``."""
    _check_lengths(a, len(spatial))
    dilations = _ones(a.get("dilations"), len(spatial))
    auto = a.get("auto_pad", "None")
    results = []
    for i, n in enumerate(spatial):
        stride, reach = a["strides"][i], dilations[i] * (kernel[i] - 1) + 1
        if auto.startswith("SAME"):
            results.append(-(-n // stride))
            continue
        pads = 0 if auto == "VALID" else a["pads_begin"][i] + a["pads_end"][i]
        span = n + pads - reach
        if span < 0:
            raise Broken("src", f"be at least as large as the window ({reach}) with padding", n)
        results.append((-(-span // stride) if up else span // stride) + 1)
    return tuple(results)


def _check_channels(provided: int, expected: int, weights: Shape) -> None:
    if provided != expected:
        raise Broken("weights", f"have {expected} input channels in a group", weights)


def conv(s: Shapes, a: Attrs) -> list[Shape]:
    """Infer from weights with axes O, I/groups and the kernel."""
    src, weights = s["src"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    outputs, inputs = (first, second) if a["weights_format"] == "OIX" else (second, first)
    _check_channels(inputs * a["groups"], channels(src, a), weights)
    _check_axes(s, "weights", weights, "src")
    if s.get("bias") is not None and s["bias"] != (outputs,):
        raise Broken("bias", f"have shape {(outputs,)}", s["bias"])
    return [_with_spatial(src[0], outputs, _window(_spatial(src, a), kernel, a), a)]


def _check_axes(s: Shapes, name: str, shape: Shape, other: str) -> None:
    """Raise unless two shapes have the same rank; oneDNN may crash otherwise."""
    if len(shape) != len(s[other]):
        raise Broken(name, f"have {len(s[other])} axes as {other} has", shape)


def conv_transpose(s: Shapes, a: Attrs) -> list[Shape]:
    """Infer from weights with axes I, O/groups and the kernel."""
    src, weights = s["src"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    inputs, outputs = (first, second) if a["weights_format"] == "IOX" else (second, first)
    _check_channels(inputs, channels(src, a), weights)
    _check_axes(s, "weights", weights, "src")
    spatial = _spatial(src, a)
    _check_lengths(a, len(spatial))
    extra = a.get("output_padding") or (0,) * len(spatial)
    auto = a["auto_pad"]
    results = []
    for i, n in enumerate(spatial):
        reach = a["dilations"][i] * (kernel[i] - 1) + 1
        pads = 0 if auto == "VALID" else a["pads_begin"][i] + a["pads_end"][i]
        full = a["strides"][i] * (n - 1) + reach - pads + extra[i]
        results.append(n * a["strides"][i] if auto.startswith("SAME") else full)
    return [_with_spatial(src[0], outputs * a["groups"], tuple(results), a)]


def conv_transpose_backward_data(s: Shapes, a: Attrs) -> list[Shape]:
    """Infer the convolution of diff_dst."""
    diff, weights = s["diff_dst"], s["weights"]
    first, second, kernel = split_weights(weights, a)
    inputs = first if a["weights_format"] == "IOX" else second
    _check_axes(s, "weights", weights, "diff_dst")
    return [_with_spatial(diff[0], inputs, _window(_spatial(diff, a), kernel, a), a)]


def pool(s: Shapes, a: Attrs) -> list[Shape]:
    """Count the windows of size ``kernel``."""
    src = s["src"]
    up = a["rounding_type"] == "ceil"
    spatial = _window(_spatial(src, a), tuple(a["kernel"]), a, up)
    return [_with_spatial(src[0], channels(src, a), spatial, a)]


def interpolate(s: Shapes, a: Attrs) -> list[Shape] | None:
    """Use explicit spatial sizes, or scaled ones rounded down."""
    src = s["src"]
    spatial = _spatial(src, a)
    if (a.get("sizes") is None) == (a.get("scales") is None):
        if s.get("sizes") is not None:
            return None
        raise Broken("sizes", "be given, or else scales, but not both", a.get("sizes"))
    provided = a["sizes"] if a.get("sizes") is not None else a["scales"]
    if len(provided) != len(spatial):
        raise Broken("sizes", f"have {len(spatial)} numbers, one for each spatial axis", provided)
    if a.get("sizes") is not None:
        return [_with_spatial(src[0], channels(src, a), tuple(provided), a)]
    sizes = tuple(int(n * scale) for n, scale in zip(spatial, provided, strict=True))
    return [_with_spatial(src[0], channels(src, a), sizes, a)]


# --- Gradients: diff_dst must have the shape of the forward result, or oneDNN may crash


def _check_gradient(s: Shapes, names: Mapping[str, str], *forward: list[Shape]) -> None:
    provided = s["diff_dst"]
    expected = [result[0] for result in forward]
    if provided not in expected:
        raise Broken("diff_dst", f"have shape {expected[0]}, as {names['src']} gives", provided)


def _forward(rule: Rule, s: Shapes, a: Attrs, names: Mapping[str, str]) -> list[Any]:
    """Apply the forward rule to arguments that are named differently in the gradient."""
    try:
        return rule({n: s.get(provided, a.get(provided)) for n, provided in names.items()}, a) or []
    except Broken as problem:
        name, *rest = problem.args
        raise Broken(names.get(name, name), *rest) from None


def conv_backward(rule: Rule, given_shape: str) -> Rule:
    """Return the rule of a gradient whose shape is the attribute dst_shape or weights_shape."""
    by_source = given_shape == "dst_shape"
    names = (
        {"src": given_shape, "weights": "weights"}
        if by_source
        else {"src": "src", "weights": given_shape}
    )
    other = "weights" if by_source else "src"

    def backward(s: Shapes, a: Attrs) -> list[Shape] | None:
        if a.get(given_shape) is None:
            _check_axes(s, other, s[other], "diff_dst")
            _check_lengths(a, len(s["diff_dst"]) - 2)
            return None
        shape = tuple(a[given_shape])
        _check_gradient(s, names, _forward(rule, s, {**a, given_shape: shape}, names))
        return [shape]

    return backward


def pool_backward(src: str) -> Rule:
    """Return the rule of a pooling gradient, whose forward may have rounded either way."""
    names = {"src": src}

    def backward(s: Shapes, a: Attrs) -> list[Shape] | None:
        provided = s["src"] if src == "src" else a.get(src)
        if provided is None:
            _check_lengths(a, len(s["diff_dst"]) - 2)
            return None
        shape = tuple(provided)
        both = (
            _forward(pool, {src: shape}, {**a, "rounding_type": rounding}, names)
            for rounding in ("floor", "ceil")
        )
        _check_gradient(s, names, *both)
        return [shape]

    return backward


def interpolate_backward(s: Shapes, a: Attrs) -> list[Shape]:
    """Return the shape of src."""
    result = interpolate({"src": s["src"], "sizes": s.get("sizes")}, a)
    if result is not None:
        _check_gradient(s, {"src": "src"}, result)
    return [s["src"]]
