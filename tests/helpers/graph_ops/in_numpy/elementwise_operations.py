# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations, quantization, reductions, normalization, and data movement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from conformance.references import reference
from conformance.references.pointwise_primitives import FORWARD, SLOPE, SLOPE_FROM_DST

from graph_ops.in_numpy.formats import (
    Array,
    Attrs,
    Shapes,
    Tensors,
    back,
    first,
    operation,
)

ELTWISE = {
    "abs": ("abs", {}), "clamp": ("clip_v2", {"alpha": "min", "beta": "max"}),
    "elu": ("elu", {"alpha": "alpha"}), "exp": ("exp", {}),
    "hard_sigmoid": ("hardsigmoid", {"alpha": "alpha", "beta": "beta"}),
    "leaky_relu": ("relu", {"alpha": "alpha"}), "log": ("log", {}), "mish": ("mish", {}),
    "relu": ("relu", {}), "round": ("round", {}), "sigmoid": ("logistic", {}),
    "softplus": ("soft_relu", {"alpha": "beta"}), "sqrt": ("sqrt", {}), "square": ("square", {}),
    "tanh": ("tanh", {}),
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "greater_equal": np.greater_equal,
    "squared_difference": lambda a, b: (a - b) ** 2,
}  # fmt: skip


#: Operations of one expression, over tensors, attributes and the shapes of results.
SIMPLE: dict[str, Callable[[Tensors, Attrs, Shapes], Array]] = {
    "pow": lambda t, a, shapes: t["src"] ** a["beta"],
    "reciprocal": lambda t, a, shapes: 1 / t["src"],
    "select": lambda t, a, shapes: np.where(t["cond"] != 0, t["src_0"], t["src_1"]),
    "concat": lambda t, a, shapes: np.concatenate(t["src"], axis=a["axis"]),
    "reorder": lambda t, a, shapes: t["src"],
    "type_cast": lambda t, a, shapes: t["src"],
    "static_reshape": lambda t, a, shapes: t["src"].reshape(shapes[0]),
    "static_transpose": lambda t, a, shapes: t["src"].transpose(a["order"]),
}


@operation("end", *BINARY, *SIMPLE)
def _simple(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    if name in BINARY:
        return [BINARY[name](t["src_0"], t["src_1"])]
    return [] if name == "end" else [SIMPLE[name](t, a, shapes)]


@operation(*ELTWISE)
def _eltwise(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    algorithm, constants = ELTWISE[name]
    inputs = {k: a[v] for k, v in constants.items()}
    return [FORWARD[algorithm](t["src"], inputs.get("alpha", 0.0), inputs.get("beta", 0.0))]


@operation("gelu", "gelu_backward")
def _gelu(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    if name == "gelu":
        return [FORWARD[a["mode"]](t["src"], 0, 0)]
    return [t["diff_dst"] * SLOPE[a["mode"]](t["src"], 0, 0)]


@operation("hard_swish", "hard_swish_backward")
def _hard_swish(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    table = FORWARD if name == "hard_swish" else SLOPE
    value = table["hardswish"](t["src"], 1 / 6, 0.5)
    return [value if name == "hard_swish" else value * t["diff_dst"]]


@operation("abs_backward", "clamp_backward", "elu_backward", "hard_sigmoid_backward",
           "mish_backward", "relu_backward", "sigmoid_backward", "softplus_backward",
           "sqrt_backward", "tanh_backward")  # fmt: skip
def _eltwise_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    algorithm, constants = ELTWISE[name.removesuffix("_backward")]
    inputs = {k: a[v] for k, v in constants.items()}
    table = SLOPE_FROM_DST if a.get("use_dst") else SLOPE
    x = t["src_or_dst"] if "src_or_dst" in t else t["src"]
    slope = table[algorithm](x, inputs.get("alpha", 0.0), inputs.get("beta", 0.0))
    return [t["diff_dst"] * slope]


@operation("bias_add", "bias_add_backward")
def _bias(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    if name == "bias_add":
        src = first(t["src"], a)
        return [back(src + t["bias"].reshape(-1, *[1] * (src.ndim - 2)), a)]
    diff = first(t["diff_dst"], a)
    return [diff.sum(axis=(0, *range(2, diff.ndim)))]


def _slope(t: Tensors, a: Attrs) -> Array:
    if t["slope"].ndim == t["src"].ndim or not a.get("per_channel_broadcast", True):
        return t["slope"]
    shape = [1] * t["src"].ndim
    if t["slope"].size > 1:
        shape[1 if a["data_format"] == "NCX" else -1] = -1
    return t["slope"].reshape(shape)


@operation("prelu", "prelu_backward")
def _prelu(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    arrays = {"src": t["src"], "weights": _slope(t, a), "diff_dst": t.get("diff_dst", 0.0)}
    if name == "prelu":
        return [reference("prelu_forward", {}, arrays)["dst"]]
    result = reference("prelu_backward", {}, arrays)
    return [result["diff_src"], result["diff_weights"].reshape(t["slope"].shape)]


# --- Quantization by tensor, channel and group; results are rounded and saturated


def _scales(t: Tensors, a: Attrs, ndim: int) -> tuple[Array, Array]:
    """Scales and zero points in the source's rank: one, by channel, or by group."""
    scales = t["scales"] if "scales" in t else np.asarray(a["scales"])
    zps = t.get("zps", np.asarray(a.get("zps") or [0.0], float))
    if a["qtype"] == "per_group":
        for axis, n in enumerate(a["group_shape"]):
            scales = np.repeat(scales, n, axis)
            zps = np.repeat(zps, n, axis) if zps.size > 1 else zps
        return scales, zps
    shape = [1] * ndim
    if a["qtype"] == "per_channel":
        shape[a["axis"]] = -1
    return scales.reshape(shape), zps.reshape(shape if zps.size > 1 else [1] * ndim)


@operation("quantize", "dynamic_quantize")
def _quantize(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    scales, zps = _scales(t, a, t["src"].ndim)
    return [t["src"] / scales + zps]


@operation("dequantize", "dynamic_dequantize")
def _dequantize(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    scales, zps = _scales(t, a, t["src"].ndim)
    return [(t["src"] - zps) * scales]


# --- Reductions, and moves of elements

REDUCE: dict[str, Callable[..., Array]] = {
    "l1": lambda x, **k: np.abs(x).sum(**k), "l2": lambda x, **k: np.sqrt((x**2).sum(**k)),
    "max": np.max, "mean": np.mean, "min": np.min, "prod": np.prod, "sum": np.sum,
}  # fmt: skip


@operation(*(f"reduce_{kind}" for kind in REDUCE))
def _reduce(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    run = REDUCE[name.removeprefix("reduce_")]
    return [run(t["src"], axis=tuple(a["axes"]), keepdims=a["keep_dims"])]


@operation("gen_index")
def _gen_index(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    shape = [1] * t["src"].ndim
    shape[a["axis"]] = -1
    n = t["src"].shape[a["axis"]]
    return [np.broadcast_to(np.arange(n).reshape(shape), t["src"].shape)]


@operation("dropout")
def _dropout(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Drop by the caller's random numbers: ``kept`` is 1 for each element that remains."""
    factor = 1 / (1 - t["probability"].item()) if t["probability"].item() < 1 else 0.0
    return [t["src"] * t["kept"] * factor, t["kept"]]


# --- Normalization and softmax


def _affine(x: Array, t: Tensors, shape: tuple[int, ...]) -> Array:
    return x * t.get("gamma", np.ones(1)).reshape(shape if "gamma" in t else 1) + t.get(
        "beta", np.zeros(1)
    ).reshape(shape if "beta" in t else 1)


@operation("batch_norm_inference", "batch_norm_forward_training")
def _batch_norm(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src = first(t["src"], a)
    column = (-1, *[1] * (src.ndim - 2))
    axes = (0, *range(2, src.ndim))
    training = name.endswith("training")
    mean = src.mean(axes) if training else t["mean"]
    variance = src.var(axes) if training else t["variance"]
    hat = (src - mean.reshape(column)) / np.sqrt(variance.reshape(column) + a["epsilon"])
    dst = back(_affine(hat, t, column), a)
    if not training:
        return [dst]
    kept = a["momentum"]
    moved = [t["mean"] * kept + mean * (1 - kept), t["variance"] * kept + variance * (1 - kept)]
    return [dst, *moved, mean, variance]


@operation("batch_norm_backward")
def _batch_norm_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    arrays = {"src": first(t["src"], a), "diff_dst": first(t["diff_dst"], a)}
    return _norm_backward("batch", arrays, t, a, lambda x: back(x, a))


def _norm_backward(
    row: str, arrays: dict, t: Tensors, a: Attrs, back: Callable[[Array], Array]
) -> list[Array]:
    flags = ["use_scale"] if "gamma" in t else []
    params = {"flags": flags, "epsilon": a["epsilon"], "prop_kind": "backward"}
    arrays |= {"scale": t["gamma"]} if flags else {}
    result = reference(f"{row}_normalization_backward", params, arrays)
    return [back(result["diff_src"]), result["diff_scale"], result["diff_shift"]]


@operation("group_norm")
def _group_norm(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src = first(t["src"], a)
    x = src.reshape(src.shape[0], a["groups"], -1)
    mean, variance = x.mean(-1), x.var(-1)
    hat = ((x - mean[..., None]) / np.sqrt(variance[..., None] + a["epsilon"])).reshape(src.shape)
    return [back(_affine(hat, t, (-1, *[1] * (src.ndim - 2))), a), mean, variance]


@operation("layer_norm", "rms_norm")
def _layer_norm(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src = t["src"]
    first = a["begin_norm_axis"] % src.ndim
    axes = tuple(range(first, src.ndim))
    if name == "rms_norm":
        hat = src / np.sqrt((src**2).mean(axes, keepdims=True) + a["epsilon"])
        return [_affine(hat, t, src.shape[first:])]
    mean, variance = src.mean(axes), src.var(axes)
    kept = (*mean.shape, *[1] * len(axes))
    hat = (src - mean.reshape(kept)) / np.sqrt(variance.reshape(kept) + a["epsilon"])
    return [_affine(hat, t, src.shape[first:]), mean, variance]


@operation("layer_norm_backward")
def _layer_norm_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    arrays = {"src": t["src"], "diff_dst": t["diff_dst"]}
    return _norm_backward("layer", arrays, t, a, lambda x: x)


@operation("softmax", "log_softmax")
def _softmax(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src, axis = t["src"], a["axis"]
    top = src.max(axis, keepdims=True)
    finite = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(src - finite).sum(axis, keepdims=True)
    with np.errstate(divide="ignore"):
        stats = finite + np.log(total)
    if name == "log_softmax":
        return [src - stats]
    zero = a.get("mode") == "inf_as_zero" and not np.all(np.isfinite(stats))
    return [np.where(np.isfinite(stats), np.exp(src - np.where(zero, finite, stats)), 0.0)
            if zero else np.exp(src - stats), stats]  # fmt: skip


@operation("softmax_backward", "log_softmax_backward")
def _softmax_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    kind = "softmax_log" if name.startswith("log") else "softmax_accurate"
    return [reference("softmax_backward", {"axis": a["axis"], "algorithm": kind}, t)["diff_src"]]
