# SPDX-License-Identifier: Apache-2.0
"""Layer normalization and RMS normalization over the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from sycl_dnn._core import data_type, normalization_flags, prop_kind
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import affine, check_eps, check_shapes, empty_like
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.choice import is_missing
from sycl_dnn.lower.node_lowering import all_computed, computed, meaning
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import normalization as ops
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

#: Elements up to which one kernel is faster than oneDNN's primitive and conversions of its vectors.
_SMALL = 1 << 18


def _normalized_rows(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, is_centered: bool
) -> Tensor:
    """Normalize each row of (M, K): by oneDNN's primitive, or by kernels if a gradient follows."""
    wide, trace = dtypes.wide(x.dtype), x.trace
    rows = [reshape(t, (1, t.size)) for t in (weight, bias) if t is not None]

    def definition(node: Node, *vectors: Node) -> tuple[Node, ...]:
        args = [cast(v, wide) for v in (node, *vectors)]
        result, *stats = ops.normalized_rows(
            *args, eps=eps, is_centered=is_centered, has_weight=weight is not None
        )
        return cast(result, node.dtype), *stats

    is_alone = not trace.is_compiled and x.size <= _SMALL
    is_converted = is_alone and any(t.dtype != "float32" for t in rows)
    has_kernel = (is_missing(x) or is_converted) and trace.policy.kernels != "never"
    if trace.training or x.dtype == "float64":
        return all_computed(definition, x, *rows)[0]
    if has_kernel:
        return computed(lambda *nodes: definition(*nodes)[0], x, *rows)
    flags = normalization_flags.none if is_centered else normalization_flags.rms_norm
    record = partial(_by_primitive, x, weight, bias, eps, flags)
    return meaning(lambda *nodes: definition(*nodes)[0], [x, *rows], record)


def _by_primitive(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, flags: normalization_flags
) -> Tensor:
    vectors, affine_flags = affine(weight, bias)
    result = x.trace.primitive(
        "layer_normalization_forward",
        {"src": x, **vectors},
        {"dst": Out(x.shape, x.dtype)},
        ask={"src": "row_major"},
        prop_kind=prop_kind.forward_inference,
        stat=layout.row_major(x.shape[:1], "float32"),
        scale_shift_data_type=data_type.f32,
        epsilon=eps,
        flags=flags | affine_flags,
    )
    return result["dst"]


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
