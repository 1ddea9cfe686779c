# SPDX-License-Identifier: Apache-2.0
"""Vectors divided by their norms."""

from __future__ import annotations

from collections.abc import Sequence

import dpnp

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import binary
from sycl_dnn.functional.affine import check_eps
from sycl_dnn.functional.clamp import clamp
from sycl_dnn.functional.pointwise import check_float
from sycl_dnn.functional.statistics import norm


@operation
def normalize(
    input: dpnp.ndarray | Array,
    p: float = 2.0,
    dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
) -> dpnp.ndarray | Array:
    """Divide vectors by their norm of order p: ``x / max(norm(x), eps)``.

    Parameters
    ----------
    input : array (*)
        float32, bfloat16 or float16.
    p : float
    dim : int or sequence of int, optional
        The axes along which the vectors lie; None for all.
    eps : float
        The least number to divide by.

    Returns
    -------
    array (*)
        Shape and dtype of ``input``.

    Raises
    ------
    ValueError
        There is no axis ``dim``, or ``eps`` is negative.
    TypeError
        The dtype is not floating-point.

    Notes
    -----
    Source: oneDNN developer guide, "Reduction" and "Binary".
    """
    check_float("normalize", input=input)
    check_eps("normalize", eps)
    wide = input.trace.convert(input, "float32") if input.dtype != "float64" else input
    length = clamp(norm(wide, p, dim, keepdim=True), min=eps)
    return binary(algorithm.binary_div, wide, length, input.dtype)
