# SPDX-License-Identifier: Apache-2.0
"""nansum and nanmean: sums and means of the elements that are not NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import div
from sycl_dnn.functional.arithmetic.comparison import eq, where
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.mathematical import isnan
from sycl_dnn.functional.reduction.sums import documented, sum
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor

_DTYPE = "dtype : str or NumPy dtype, optional\n    dtype of the result, and of the sum.\n"


@operation
@documented("NaN count as 0, without a gradient. Integers are summed in int64.", parameters=_DTYPE)
def nansum(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the sum of the elements that are not NaN."""
    numbers = where(isnan(input), 0, input) if input.is_float else input
    return sum(numbers, dim, keepdim, dtype=dtype)


@operation
@documented("The mean of nothing but NaN is NaN.", parameters=_DTYPE)
def nanmean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the mean of the elements that are not NaN."""
    check_float("nanmean", input=input)
    x = input if dtype is None else converted(input, dtypes.name_of(dtype))
    return div(nansum(x, dim, keepdim), sum(eq(input, input), dim, keepdim))
