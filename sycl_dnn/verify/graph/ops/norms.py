# SPDX-License-Identifier: Apache-2.0
"""Normalisations and softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sycl_dnn.verify.graph.ops.formats import back, first
from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation
from sycl_dnn.verify.references import reference


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
    made = reference(f"{row}_normalization_backward", params, arrays)
    return [back(made["diff_src"]), made["diff_scale"], made["diff_shift"]]


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
