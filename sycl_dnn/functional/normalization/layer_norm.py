# SPDX-License-Identifier: Apache-2.0
"""Layer normalization and RMS normalization over the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import dpnp
import numpy as np

from sycl_dnn import _core
from sycl_dnn._core import algorithm, data_type, normalization_flags, prop_kind
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import (
    affine,
    check_eps,
    check_shapes,
    composed_norm,
    empty_like,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.gradients import backward, rule_for
from sycl_dnn.trace.pointwise import chain, fused, linear_map, power, scale, times, zeros
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def normalized_rows(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    extra: normalization_flags = normalization_flags.none,
    keep: bool = False,
) -> dict[str, Tensor]:
    """Normalize each row of (M, K); return ``dst`` and, if kept, ``mean`` and ``variance`` (M,).

    The statistics are always kept if a gradient follows.
    """
    inputs, given = affine(weight, bias)
    outputs = {"dst": Out(x.shape, x.dtype)}
    stat = layout.row_major(x.shape[:1], "float32")
    kind = x.trace.forward_kind
    if keep or x.trace.training:
        kind = prop_kind.forward_training
        names = ("variance",) if extra & normalization_flags.rms_norm else ("mean", "variance")
        outputs |= {n: Out(x.shape[:1], "float32") for n in names}
    return x.trace.primitive(
        "layer_normalization_forward",
        {"src": x, **inputs},
        outputs,
        ask={"src": "row_major"},
        prop_kind=kind,
        stat=stat,
        scale_shift_data_type=data_type.f32,
        epsilon=eps,
        flags=given | extra,
        composed=partial(composed_norm, axes=[1], eps=eps, kind=given | extra),
    )


@rule_for("layer_normalization_forward")
def _layer_normalization(trace, entry, grads, needed):
    if entry.params["flags"] & normalization_flags.rms_norm:
        return _rms_gradient(trace, entry, grads["dst"])
    return backward(
        trace,
        "layer_normalization_backward",
        entry,
        grads,
        needed,
        prop_kind=prop_kind.backward,
        diff_scale_shift_data_type=data_type.f32,
    )


def _rms_gradient(trace, entry, dy):
    """Return the gradients; oneDNN's own subtracts a mean that the forward pass did not.

    The backward pass of layer normalization is used with a mean of 0: it subtracts the mean of ``dy
    * weight``, which is added back.
    """
    src, variance = entry.args["src"], entry.outputs["variance"]
    weight, eps = entry.args.get("scale"), entry.params["epsilon"]
    given = normalization_flags.none if weight is None else normalization_flags.use_scale
    common = {"epsilon": eps, "flags": given, "stat": entry.params["stat"]}
    common["scale_shift_data_type"] = data_type.f32
    forward = _core.layer_normalization_forward(
        trace.engine, prop_kind=prop_kind.forward_training, src=src.desc, dst=src.desc, **common
    )
    inputs = {"src": src, "diff_dst": dy, "variance": variance}
    inputs["mean"] = zeros(trace, variance.shape, "float32")
    outputs = {"diff_src": Out(src.shape, src.dtype)}
    if weight is not None:
        inputs["scale"] = weight
        outputs["diff_scale"] = Out(weight.shape, "float32")
    made = trace.primitive(
        "layer_normalization_backward",
        inputs,
        outputs,
        ask={"diff_dst": src},
        prop_kind=prop_kind.backward_data if weight is None else prop_kind.backward,
        diff_scale_shift_data_type=data_type.f32,
        hint_fwd_pd=forward,
        **common,
    )
    rows = reshape(variance, (variance.size, 1))
    missing = chain(rows, scale(1.0, eps), power(-0.5), times(_row_means(dy, weight)))
    found = {"src": fused(algorithm.binary_add, made["diff_src"], missing)}
    return found if weight is None else {**found, "scale": made["diff_scale"]}


def _row_means(dy: Tensor, weight: Tensor | None) -> Tensor:
    """Return the means of the rows of ``dy * weight``, (M, 1) in float32."""
    if weight is None:
        return reduce(algorithm.reduction_mean, dy, [1], "float32")
    columns = dy.trace.convert(reshape(weight, (weight.size, 1)), dy.dtype)
    out = {"dst": Out((dy.shape[0], 1), "float32")}
    made = dy.trace.primitive("matmul", {"src": dy, "weights": columns}, out)
    return linear_map(made["dst"], 1.0 / weight.size)


# --- layer_norm, rms_norm


def _split(name: str, x: Tensor, normalized_shape: Sequence[int]) -> tuple[int, ...]:
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


def _over_last_axes(name, x, normalized_shape, weight, bias, eps, extra=normalization_flags.none):
    check_float(name, input=x)
    shape = _split(name, x, normalized_shape)
    check_shapes(name, shape, weight=weight, bias=bias)
    check_eps(name, eps)
    if not x.size:
        return empty_like(x, weight, bias)
    rows = reshape(x, (-1, math.prod(shape)))
    return reshape(normalized_rows(rows, weight, bias, eps, extra)["dst"], x.shape)


_DOC = """{summary}

Parameters
----------
input : array (*, *K)
    float32, bfloat16 or float16.
normalized_shape : sequence of int
    K, one axis or more.
{parameters}
Returns
-------
array (*, *K)
    dtype of ``input``.

Raises
------
ValueError
    Shapes do not fit, or ``eps`` is negative.
TypeError
    A dtype is not floating-point, or ``normalized_shape`` is not a sequence.

Notes
-----
Source: oneDNN developer guide, "Layer Normalization"{source}.
"""


@operation
@templated(_DOC, source="; Ba et al., arXiv:1607.06450")
def layer_norm(
    input: dpnp.ndarray | Array,
    normalized_shape: Sequence[int],
    weight: dpnp.ndarray | Array | None = None,
    bias: dpnp.ndarray | Array | None = None,
    eps: float = 1e-5,
) -> dpnp.ndarray | Array:
    """Normalize over the last axes: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    weight, bias : array (*K), optional
    eps : float
    """
    return _over_last_axes("layer_norm", input, normalized_shape, weight, bias, eps)


@operation
@templated(_DOC, source=", flag ``rms_norm``; Zhang and Sennrich,\narXiv:1910.07467")
def rms_norm(
    input: dpnp.ndarray | Array,
    normalized_shape: Sequence[int],
    weight: dpnp.ndarray | Array | None = None,
    eps: float | None = None,
) -> dpnp.ndarray | Array:
    """Divide by the root mean square over the last axes: ``x / sqrt(mean(x**2) + eps) * weight``.

    weight : array (*K), optional
    eps : float, optional
        By default the epsilon of the compute dtype: 1.2e-7 for float32 and narrower.
    """
    if eps is None:
        eps = float(np.finfo(dtypes.wide(input.dtype)).eps)
    rms = normalization_flags.rms_norm
    return _over_last_axes("rms_norm", input, normalized_shape, weight, None, eps, rms)
