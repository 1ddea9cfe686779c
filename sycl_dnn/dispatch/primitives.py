# SPDX-License-Identifier: Apache-2.0
"""Small recorded operations that many functions and gradients need."""

from __future__ import annotations

from sycl_dnn.dispatch import curvature, slopes, stepwise  # noqa: F401 - register gradients
from sycl_dnn.dispatch.broadcasting import broadcast_shape, expand_rank, untaped
from sycl_dnn.dispatch.ones import filled
from sycl_dnn.dispatch.pointwise import (
    add,
    binary,
    broadcast_to,
    div,
    eltwise,
    linear_map,
    mul,
    sub,
    zeros,
)
from sycl_dnn.dispatch.reductions import reduce, sum_to
from sycl_dnn.dispatch.selection import select

__all__ = [
    "add",
    "binary",
    "broadcast_shape",
    "broadcast_to",
    "div",
    "eltwise",
    "expand_rank",
    "filled",
    "linear_map",
    "mul",
    "reduce",
    "select",
    "sub",
    "sum_to",
    "untaped",
    "zeros",
]
