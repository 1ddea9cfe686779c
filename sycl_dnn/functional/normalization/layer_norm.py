# SPDX-License-Identifier: Apache-2.0
"""Layer normalization and RMS normalization over the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from sycl_dnn._core import data_type, normalization_flags, prop_kind
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import (
    affine,
    check_eps,
    check_shapes,
    empty_like,
    float32,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.choice import is_missing
from sycl_dnn.lower.node_lowering import all_computed, all_meaning
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import normalization as ops
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import backward
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, row_major, untaped

#: Elements up to which one kernel is faster than oneDNN's primitive and conversions of its vectors.
_SMALL = 1 << 18


def _normalized_rows(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, is_centered: bool
) -> Tensor:
    """Normalize each row of (M, K)."""
    wide = dtypes.wide(x.dtype)
    rows = [reshape(t, (1, t.size)) for t in (weight, bias) if t is not None]

    def definition(node: Node, *vectors: Node) -> tuple[Node, ...]:
        args = [cast(v, wide) for v in (node, *vectors)]
        result, *stats = ops.normalized_rows(
            *args, eps=eps, is_centered=is_centered, has_weight=weight is not None
        )
        return cast(result, node.dtype), *(stats if x.trace.training else ())

    is_alone = not (x.trace.training or x.trace.is_compiled)
    is_converted = is_alone and x.size <= _SMALL and any(t.dtype != "float32" for t in rows)
    has_kernel = (is_missing(x) or is_converted) and x.trace.policy.kernels != "never"
    if x.dtype == "float64" or has_kernel:
        return all_computed(definition, x, *rows)[0]
    with untaped(x.trace):
        result, forward = _by_primitive(x, weight, bias, eps, is_centered=is_centered)
    # oneDNN's gradient of RMS normalization is wrong: it subtracts a mean. If it lacks the dtype,
    # the definition is used, which is one kernel without conversions.
    has_gradient = is_centered and forward.row == "layer_normalization_forward"
    gradient = (
        partial(_gradient, forward.pd, eps, forward.params["flags"]) if has_gradient else None
    )
    return all_meaning(definition, [x, *rows], lambda: result, gradient)[0]


def _by_primitive(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, is_centered: bool
) -> tuple[tuple[Tensor, ...], Entry]:
    """Record oneDNN's primitive: its result, statistics (M, 1) if a gradient follows, and entry."""
    inputs, flags = affine(weight, bias)
    outputs = {"dst": Out(x.shape, x.dtype)}
    kind, names = x.trace.forward_kind, []
    if x.trace.training:
        kind = prop_kind.forward_training
        names = ["mean", "variance"] if is_centered else ["variance"]
        outputs |= {n: Out(x.shape[:1], "float32") for n in names}
    result = x.trace.primitive(
        "layer_normalization_forward",
        {"src": x, **inputs},
        outputs,
        ask={"src": "row_major"},
        prop_kind=kind,
        **_params(x, eps, flags if is_centered else flags | normalization_flags.rms_norm),
    )
    entry = x.trace.tape[-1]
    return (result["dst"], *[reshape(result[n], (x.shape[0], 1)) for n in names]), entry


def _params(x: Tensor, eps: float, flags: normalization_flags) -> dict[str, Any]:
    stat = layout.row_major(x.shape[:1], "float32")
    return {
        "stat": stat, "scale_shift_data_type": data_type.f32, "epsilon": eps, "flags": flags
    }  # fmt: skip


def _gradient(
    pd: Any, eps: float, flags: normalization_flags, entry: Entry, dy: Tensor, needed: set[str]
) -> dict[str, Tensor]:
    """Record oneDNN's gradient of an entry of rows and vectors, with result, mean and variance."""
    trace, (x, *vectors) = dy.trace, entry.inputs.values()
    vector_flags = (normalization_flags.use_scale, normalization_flags.use_shift)
    names = [n for n, flag in zip(("scale", "shift"), vector_flags, strict=True) if flags & flag]
    inputs = {
        "src": row_major(x),
        **{n: float32(v, (v.size,)) for n, v in zip(names, vectors, strict=True)},
    }
    y, mean, variance = entry.outputs.values()
    stats = {"mean": mean, "variance": variance}
    outputs = {"dst": y, **{n: reshape(t, x.shape[:1]) for n, t in stats.items()}}
    forward = Entry(
        "layer_normalization_forward", inputs, outputs, _params(x, eps, flags), inputs, pd
    )
    row, kind = "layer_normalization_backward", prop_kind.backward
    result = backward(
        trace, row, forward, {"dst": dy},
        prop_kind=kind, diff_scale_shift_data_type=data_type.f32,
    )  # fmt: skip
    of_inputs = zip(entry.inputs.items(), result.values(), strict=True)
    return {
        n: trace.convert(reshape(g, t.shape), t.dtype) for (n, t), g in of_inputs if n in needed
    }


# --- layer_norm, rms_norm


def _checked_shape(name: str, x: Tensor, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    """Validate ``normalized_shape`` against the last axes of ``x`` and return it."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}: normalized_shape must be a sequence of integers, got {normalized_shape!r}"
        )
    shape = tuple(normalized_shape)
    if not shape or shape != x.shape[len(x.shape) - len(shape) :]:
        raise ValueError(
            f"{name}: normalized_shape must be the last axes of {x.shape}, got {normalized_shape}"
        )
    return shape


def _over_last_axes(name, x, normalized_shape, weight, bias, eps, *, is_centered=True):
    check_float(name, input=x)
    shape = _checked_shape(name, x, normalized_shape)
    check_shapes(name, shape, weight=weight, bias=bias)
    check_eps(name, eps)
    if not x.size:
        return empty_like(x, weight, bias)
    rows = reshape(x, (-1, math.prod(shape)))
    return reshape(_normalized_rows(rows, weight, bias, eps, is_centered=is_centered), x.shape)


_DOC = """{summary}

Parameters
----------
input : array (*, *K)
    float32, bfloat16 or float16; float64 if the device supports it.
normalized_shape : sequence of int
    K: one or more axes.
{parameters}
Returns
-------
array (*, *K)
    dtype of ``input``.

Raises
------
ValueError
    Shapes do not match, or ``eps`` is negative.
TypeError
    A dtype is not floating-point, or ``normalized_shape`` is not a sequence.

Notes
-----
Source: oneDNN developer guide, "Layer Normalization"{source}.
"""


@operation
@templated(_DOC, source="; Ba et al., arXiv:1607.06450")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize over the last axes: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    weight, bias : array (*K), optional
    eps : float
    """
    return _over_last_axes("layer_norm", input, normalized_shape, weight, bias, eps)


@operation
@templated(_DOC, source=", flag ``rms_norm``; Zhang and Sennrich,\narXiv:1910.07467")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root mean square over the last axes: ``x / sqrt(mean(x**2) + eps) * weight``.

    weight : array (*K), optional
    eps : float, optional
        By default the epsilon of the compute dtype: 1.2e-7 for float32 and narrower.
    """
    if eps is None:
        eps = float(np.finfo(dtypes.wide(input.dtype)).eps)
    name = "rms_norm"
    return _over_last_axes(name, input, normalized_shape, weight, None, eps, is_centered=False)
