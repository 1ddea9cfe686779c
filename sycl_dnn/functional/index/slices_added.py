# SPDX-License-Identifier: Apache-2.0
"""``index_add``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import mul
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.index.gathering import check_index, scattered
from sycl_dnn.functional.shape.arrangement import spread
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp


@operation
def index_add(
    input: Tensor, dim: int, index: dpnp.ndarray, source: Tensor,
    *, alpha: float = 1,
) -> Tensor:  # fmt: skip
    """Add slices along an axis by index: ``out[:, index[j]] += alpha * source[:, j]``.

    Parameters
    ----------
    input : array (*A, n, *B)
        Any dtype except bool.
    dim : int
    index : array (m,) of int32 or int64
    source : array (*A, m, *B)
        Same dtype as ``input``.
    alpha : number
        Scale factor.

    Returns
    -------
    array (*A, n, *B)

    Raises
    ------
    TypeError
        ``index`` is not an integer array, or ``source`` has another dtype.
    ValueError
        The shapes do not match.

    Notes
    -----
    The host does not read the index; out-of-range entries are ignored. Differentiable to any order.
    Source: ``torch.index_add``.
    """
    name = "index_add"
    index = check_index(name, "index", index)
    axis = check_axis(name, dim, input.ndim)
    check_arrays(name, source=source)
    expected = (*input.shape[:axis], index.size, *input.shape[axis + 1 :])
    if index.ndim > 1 or not input.ndim or source.shape != expected:
        raise ValueError(
            f"{name}: source must have shape {expected} for index of {index.shape}, got "
            f"{source.shape}"
        )
    if input.dtype == "bool":
        raise TypeError(f"{name}: input must not be bool")
    aligned = [index.size if a == axis else 1 for a in range(input.ndim)]
    indices = spread(reshape(index, tuple(aligned)), expected)
    scaled = source if alpha == 1 else mul(source, alpha)
    return scattered(name, input, dim, indices, scaled, True)
