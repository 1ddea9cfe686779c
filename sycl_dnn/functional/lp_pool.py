# SPDX-License-Identifier: Apache-2.0
"""Norms over windows of one, two and three spatial axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import linear_map
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.activation import eltwise
from sycl_dnn.functional.avg_pool import avg_pool
from sycl_dnn.functional.window import per_axis

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["lp_pool1d", "lp_pool2d", "lp_pool3d"]


def _lp_pool(
    name: str,
    rank: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    ceil_mode: bool,
) -> Tensor:
    """Return the norms of a function's arguments, checked."""
    power = float(norm_type)
    if not power or not math.isfinite(power):
        raise ValueError(f"{name}: norm_type must be finite and not 0, got {norm_type!r}")
    raised = _power(input, power)
    mean = avg_pool(name, rank, raised, (kernel_size, stride, 0), ceil_mode, True)
    kernel = per_axis(name, "kernel_size", kernel_size, rank)
    return _power(linear_map(mean, math.prod(kernel)), 1 / power)


def _power(x: Tensor, power: float) -> Tensor:
    special = {1.0: None, 2.0: A.eltwise_square, 0.5: A.eltwise_sqrt}
    if power in special:
        return x if power == 1 else eltwise(x, special[power])
    return eltwise(x, A.eltwise_pow, 1.0, power)


@operation
def lp_pool1d(
    input: dpnp.ndarray | Array,
    norm_type: float,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    ceil_mode: bool = False,
) -> dpnp.ndarray | Array:
    """Return the norm of each window of signals (N, C, W) or (C, W).

    Parameters, results and errors are those of ``lp_pool2d`` with one spatial axis.
    """
    return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


@operation
def lp_pool2d(
    input: dpnp.ndarray | Array,
    norm_type: float,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    ceil_mode: bool = False,
) -> dpnp.ndarray | Array:
    """Return ``sum(x ** norm_type) ** (1 / norm_type)`` of each window.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 where the device has it.
    norm_type : float
        As in PyTorch no absolute values are taken: an odd number wants sums that are positive.
    kernel_size : int or tuple
    stride : int or tuple, optional
        Distance of the windows; None is the kernel's size.
    ceil_mode : bool
        Whether a last window may hang over the end. Its norm is scaled as if it were full.

    Returns
    -------
    array (N, C, T, U), or (C, T, U) for one image; channels-last in memory

    Raises
    ------
    ValueError
        Sizes do not fit, or ``norm_type`` is 0 or infinite.
    TypeError
        The dtype is no floating-point type.

    Notes
    -----
    Source: oneDNN developer guide, "Pooling" and "Eltwise".
    """
    return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


@operation
def lp_pool3d(
    input: dpnp.ndarray | Array,
    norm_type: float,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    ceil_mode: bool = False,
) -> dpnp.ndarray | Array:
    """Return the norm of each window of volumes (N, C, D, H, W) or (C, D, H, W).

    Parameters, results and errors are those of ``lp_pool2d`` with three spatial axes.
    """
    return _lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)
