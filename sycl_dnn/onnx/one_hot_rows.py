# SPDX-License-Identifier: Apache-2.0
"""Embeddings written as products of one-hot values and a matrix: they select rows of the matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.delayed_values import Delayed, as_written
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.operator_registry import Call, F, delayed_form


class OneHot(Delayed):
    """1, or True, where the new last axis equals ``index``, of integers; 0 elsewhere."""

    def __init__(self, make: Callable[[], Any], index: Any, size: int, dtype: str) -> None:
        super().__init__(make)
        self.index, self.size, self.dtype = index, size, dtype


def equal(a: Any, b: Any, make: Callable[[], Any]) -> Any:
    """Return ``make()``, which computes ``a == b``; delayed if it compares an index to a range."""
    for index, steps in ((a, b), (b, a)):
        if is_host(index) or not is_host(steps) or not steps.ndim:
            continue
        shape, n = tuple(index.shape), steps.shape[-1]
        is_index = dtypes.name_of(index.dtype) in ("int32", "int64") and shape[-1:] == (1,)
        fits = steps.size == n and steps.ndim <= len(shape)
        if is_index and fits and (steps == np.arange(n)).all():
            return OneHot(make, F.reshape(index, shape[:-1]), n, "bool")
    return make()


@delayed_form("Cast")
def _cast(call: Call, x: Any) -> Any:
    dtype = call.dtype(int(call.need("to")))
    if not isinstance(x, OneHot) or "float" not in dtype:
        return None
    return OneHot(as_written(call, x), x.index, x.size, dtype)


@delayed_form("MatMul")
def _matmul(call: Call, a: Any, b: Any) -> Any:
    if not isinstance(a, OneHot) or isinstance(b, Delayed):
        return None
    b = call.device(b)
    if (
        len(b.shape) != 2
        or not a.size
        or b.shape[0] != a.size
        or dtypes.name_of(b.dtype) != a.dtype
    ):
        return None
    is_row = F.logical_and(F.ge(a.index, 0), F.lt(a.index, a.size))
    rows = F.cat([b, F.full_like(F.narrow(b, 0, 0, 1), 0.0)], 0)
    # NaN or infinity in other rows, multiplied by 0, makes the sum NaN.
    is_wrong = F.astype(F.logical_not(F.isfinite(rows)), rows.dtype)
    others = F.sum(is_wrong, 0, keepdim=True) - is_wrong
    rows = F.where(F.gt(others, 0.0), F.full_like(rows, math.nan), rows)
    return F.embedding(F.where(is_row, a.index, F.full_like(a.index, a.size)), rows)
