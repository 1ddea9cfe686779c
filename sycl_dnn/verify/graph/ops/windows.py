# SPDX-License-Identifier: Apache-2.0
"""Pooling and interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.verify.graph.ops.formats import back, first, formed, geometry
from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation
from sycl_dnn.verify.references import reference


def _pooling(name: str, a: Attrs, spatial: Sequence[int]) -> dict[str, Any]:
    kind = "max" if name.startswith("max") else (
        "avg_exclude_padding" if a["exclude_pad"] else "avg_include_padding")  # fmt: skip
    return geometry(a, spatial, a["kernel"]) | {"kernel": a["kernel"],
                                                 "algorithm": "pooling_" + kind}  # fmt: skip


@operation("avg_pool", "max_pool")
def _pool(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src = first(t["src"], a)
    params = _pooling(name, a, src.shape[2:])
    if a["rounding_type"] == "ceil":
        wanted = formed(shapes[0], a)[2:]
        for i, n in enumerate(wanted):
            reach = params["dilation"][i] * (a["kernel"][i] - 1) + a["kernel"][i]
            span = (n - 1) * a["strides"][i] + reach
            params["padding_r"][i] = span - src.shape[2 + i] - params["padding_l"][i]
    return [back(reference("pooling_forward", params, {"src": src})["dst"], a)]


@operation("avg_pool_backward", "max_pool_backward")
def _pool_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    size = formed(shapes[0], a)
    arrays = {"diff_dst": first(t["diff_dst"], a)}
    arrays |= {"src": first(t["src"], a)} if "src" in t else {}
    params = _pooling(name, a, size[2:])
    made = reference("pooling_backward", params, arrays, {"diff_src": size})
    return [back(made["diff_src"], a)]


@operation("interpolate", "interpolate_backward")
def _interpolate(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    mode = "nearest" if a["mode"] == "nearest" else "linear"
    params = {"algorithm": "resampling_" + mode}
    size = formed(shapes[0], a)
    if a["coordinate_transformation_mode"] == "align_corners":
        return [back(_aligned(first(t["src"], a), size[2:]), a)]
    if name == "interpolate":
        made = reference("resampling_forward", params, {"src": first(t["src"], a)}, {"dst": size})
        return [back(made["dst"], a)]
    arrays = {"diff_dst": first(t["diff_dst"], a)}
    made = reference("resampling_backward", params, arrays, {"diff_src": size})
    return [back(made["diff_src"], a)]


def _aligned(x: Array, size: Sequence[int]) -> Array:
    for axis, n in enumerate(size, start=2):
        at = np.linspace(0, x.shape[axis] - 1, n)
        low = np.minimum(np.floor(at).astype(int), max(x.shape[axis] - 2, 0))
        high = np.minimum(low + 1, x.shape[axis] - 1)
        share = (at - low).reshape(-1, *[1] * (x.ndim - axis - 1))
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return x
