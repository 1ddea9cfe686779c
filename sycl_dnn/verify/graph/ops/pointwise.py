# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations of one or more tensors, and their gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sycl_dnn.verify.graph.ops.formats import back, first
from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation
from sycl_dnn.verify.references import reference
from sycl_dnn.verify.references.eltwise import FORWARD, SLOPE, SLOPE_FROM_DST

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


@operation(*ELTWISE)
def _eltwise(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    algorithm, constants = ELTWISE[name]
    given = {k: a[v] for k, v in constants.items()}
    return [FORWARD[algorithm](t["src"], given.get("alpha", 0.0), given.get("beta", 0.0))]


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
    given = {k: a[v] for k, v in constants.items()}
    table = SLOPE_FROM_DST if a.get("use_dst") else SLOPE
    x = t["src_or_dst"] if "src_or_dst" in t else t["src"]
    slope = table[algorithm](x, given.get("alpha", 0.0), given.get("beta", 0.0))
    return [t["diff_dst"] * slope]


@operation("pow")
def _pow(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [t["src"] ** a["beta"]]


@operation("reciprocal")
def _reciprocal(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [1 / t["src"]]


@operation(*BINARY)
def _binary(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    return [BINARY[name](t["src_0"], t["src_1"])]


@operation("select")
def _select(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    kept, other = np.asarray(t["src_0"]), np.asarray(t["src_1"])
    return [np.where(t["cond"] != 0, kept, other)]


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
    made = reference("prelu_backward", {}, arrays)
    return [made["diff_src"], made["diff_weights"].reshape(t["slope"].shape)]
