# SPDX-License-Identifier: Apache-2.0
"""Quantisation by tensor, channel and group; whoever stores results rounds and saturates."""

from __future__ import annotations

import numpy as np

from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation


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
