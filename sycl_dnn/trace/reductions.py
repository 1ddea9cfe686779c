# SPDX-License-Identifier: Apache-2.0
"""Reductions over any axes, which generated kernels compute."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import algorithm
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def reduce(kind: algorithm, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor:
    """Reduce over ``axes``, which remain with size 1, with derivatives of any order.

    ``kind`` is one of oneDNN's sum, mean, max, min and mul. Narrow floats are reduced in float32.
    Extremes are NaN where an element is; those of no elements raise ValueError.
    """
    dtype = dtype or str(x.dtype)
    axes = tuple(sorted({a % max(x.ndim, 1) for a in axes}))
    if x.size and all(x.shape[a] == 1 for a in axes if x.ndim):
        return x.trace.convert(x, dtype)
    is_complex = dtypes.is_complex(x.dtype)
    reduced = functions.complex_reduction if is_complex else functions.reduction_kernel
    return reduced(kind, x, axes, dtype)  # type: ignore[no-any-return]


def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` summed over the axes along which ``shape`` was broadcast to it."""
    padded = (1,) * (x.ndim - len(shape)) + shape
    axes = [i for i, (n, m) in enumerate(zip(x.shape, padded, strict=True)) if n != m]
    return reshape(reduce(algorithm.reduction_sum, x, axes) if axes else x, shape)
