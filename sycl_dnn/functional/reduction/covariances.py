# SPDX-License-Identifier: Apache-2.0
"""cov and corrcoef: covariances and correlations of the rows of a matrix."""

from __future__ import annotations

from typing import Any

from sycl_dnn.call.operation import SMOOTH, described_as_torch, operation
from sycl_dnn.functional.arithmetic.binary import div, mul, sub
from sycl_dnn.functional.arithmetic.comparison import clamp
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import sqrt
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.product.matmul import matmul
from sycl_dnn.functional.reduction.sums import mean, sum
from sycl_dnn.functional.shape.axes import diagonal
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

_WORDS = {"types": "``input`` is bool or complex.", "notes": SMOOTH}


def _variables(name: str, x: Tensor) -> Tensor:
    if x.dtype == "bool":
        raise TypeError(f"{name}: input must not be bool")
    if x.ndim > 2:
        raise ValueError(f"{name}: input must have at most 2 axes, got shape {x.shape}")
    return x if x.is_float else converted(x, "float32")


def _weights(name: str, argument: str, x: Tensor, weights: Any) -> Tensor | None:
    if weights is None:
        return None
    check_arrays(name, **{argument: weights})
    if argument == "fweights" and dtypes.is_float(str(weights.dtype)):
        raise TypeError(f"{name}: fweights must be integers, got {weights.dtype}")
    if weights.shape != (x.shape[1],):
        raise ValueError(f"{name}: {argument} must have shape {(x.shape[1],)}, got {weights.shape}")
    return converted(weights, str(x.dtype))


@operation
@described_as_torch(
    returns="array\n    (n, n), or without axes for one variable.",
    errors="``input`` has more than two axes, or the weights another shape.", **_WORDS,
)  # fmt: skip
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the covariance matrix of variables, the rows of a matrix.

    input : array (n, m), or (m,) for one variable
        Any real dtype except bool; integers become float32.
    correction : int
        Subtracted from the number of observations.
    fweights, aweights : arrays (m,), optional
        How often each observation occurs, and its importance.
    """
    x = _variables("cov", input)
    if aweights is not None and dtypes.is_float(str(aweights.dtype)):
        x = converted(x, dtypes.promote(str(x.dtype), str(aweights.dtype)))
    x = x if input.ndim == 2 else reshape(x, (1, input.size))
    counts, shares = (_weights("cov", n, x, w)
                      for n, w in (("fweights", fweights), ("aweights", aweights)))  # fmt: skip
    given = [w for w in (counts, shares) if w is not None]
    if not given:
        centered = sub(x, mean(x, 1, True))
        product = matmul(centered, transpose(centered, (1, 0)))
        result = div(product, max(x.shape[1] - correction, 0))
        return result if result.size != 1 else reshape(result, ())
    weights = given[0] if len(given) == 1 else mul(*given)
    total = sum(weights)
    centered = sub(x, div(sum(mul(x, weights), 1, True), total))
    lost = 1.0 if shares is None else div(sum(mul(weights, shares)), total)
    divisor = sub(total, mul(lost, correction)) if shares is not None else sub(total, correction)
    product = matmul(mul(centered, weights), transpose(centered, (1, 0)))
    result = div(product, clamp(divisor, min=0.0))
    return result if result.size != 1 else reshape(result, ())


@operation
@described_as_torch(
    returns="array\n    (n, n), or without axes for one variable.",
    errors="``input`` has more than two axes.", **_WORDS,
)  # fmt: skip
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation coefficients of variables, the rows of a matrix.

    input : array (n, m), or (m,) for one variable
        Any real dtype except bool; integers become float32.
    """
    matrix = cov(_variables("corrcoef", input))
    if not matrix.ndim:
        return div(matrix, matrix)
    spread = sqrt(diagonal(matrix))
    n = spread.size
    rows = div(div(matrix, reshape(spread, (n, 1))), reshape(spread, (1, n)))
    return clamp(rows, -1.0, 1.0)
