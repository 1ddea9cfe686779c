# SPDX-License-Identifier: Apache-2.0
"""Layer and root mean square normalization over the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dpnp
import numpy as np

from sycl_dnn._core import normalization_flags as flags
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.affine import check_eps, check_shapes, empty_like
from sycl_dnn.functional.normalized_rows import normalized_rows
from sycl_dnn.functional.pointwise import check_float


def _split(name: str, x: Tensor, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    """Return ``normalized_shape``, checked against the last axes of ``x``."""
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


def _over_last_axes(name, x, normalized_shape, weight, bias, eps, extra=flags.none):
    check_float(name, input=x)
    shape = _split(name, x, normalized_shape)
    check_shapes(name, shape, weight=weight, bias=bias)
    check_eps(name, eps)
    if not x.size:
        return empty_like(x, weight, bias)
    rows = reshape(x, (-1, math.prod(shape)))
    return reshape(normalized_rows(rows, weight, bias, eps, extra)["dst"], x.shape)


@operation
def layer_norm(
    input: dpnp.ndarray | Array,
    normalized_shape: Sequence[int],
    weight: dpnp.ndarray | Array | None = None,
    bias: dpnp.ndarray | Array | None = None,
    eps: float = 1e-5,
) -> dpnp.ndarray | Array:
    """Normalize over the last axes: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    input : array (*, *K)
        float32, bfloat16 or float16.
    normalized_shape : sequence of int
        K, one axis or more.
    weight, bias : array (*K), optional
    eps : float

    Returns
    -------
    array (*, *K)
        dtype of ``input``.

    Raises
    ------
    ValueError
        Shapes do not fit, or ``eps`` is negative.
    TypeError
        A dtype is not floating-point, or ``normalized_shape`` is no sequence.

    Notes
    -----
    Source: oneDNN developer guide, "Layer Normalization"; Ba et al., arXiv:1607.06450.
    """
    return _over_last_axes("layer_norm", input, normalized_shape, weight, bias, eps)


@operation
def rms_norm(
    input: dpnp.ndarray | Array,
    normalized_shape: Sequence[int],
    weight: dpnp.ndarray | Array | None = None,
    eps: float | None = None,
) -> dpnp.ndarray | Array:
    """Divide by the root mean square over the last axes: ``x / sqrt(mean(x**2) + eps) * weight``.

    Parameters
    ----------
    input : array (*, *K)
        float32, bfloat16 or float16.
    normalized_shape : sequence of int
        K, one axis or more.
    weight : array (*K), optional
    eps : float, optional
        Default: the epsilon of the dtype that is computed in, 1.2e-7 for float32 and narrower.

    Returns
    -------
    array (*, *K)
        dtype of ``input``.

    Raises
    ------
    ValueError
        Shapes do not fit, or ``eps`` is negative.
    TypeError
        A dtype is not floating-point, or ``normalized_shape`` is no sequence.

    Notes
    -----
    Source: oneDNN developer guide, "Layer Normalization", flag ``rms_norm``; Zhang and Sennrich,
    arXiv:1910.07467.
    """
    if eps is None:
        eps = float(np.finfo("float64" if input.dtype == "float64" else "float32").eps)
    rms = flags.rms_norm
    return _over_last_axes("rms_norm", input, normalized_shape, weight, None, eps, rms)
