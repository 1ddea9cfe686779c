# SPDX-License-Identifier: Apache-2.0
"""Results that oneDNN computes from NaN and infinities unlike PyTorch, made to match PyTorch.

It takes additional passes over the data, so it is optional: ``sycl_dnn.set_nan("propagate")``.
"""

from __future__ import annotations

from sycl_dnn._core import algorithm
from sycl_dnn.trace.pointwise import (
    ROOT,
    fused,
    plus,
    scale,
)
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import filled, untaped

A = algorithm
#: Steps from 1 to NaN and from 0 to 0.
_TO_NAN = (scale(-1), ROOT)


def is_asked_for(x: Tensor) -> bool:
    """Whether NaN and infinities must propagate as in PyTorch."""
    return x.trace.policy.nan == "propagate"


def kept(x: Tensor, y: Tensor) -> Tensor:
    """Return ``y`` of the shape and dtype of ``x``, but NaN where ``x`` is NaN; not on the tape."""
    with untaped(x.trace):
        return fused(A.binary_ne, x, x, *_TO_NAN, plus(y))


def number(x: Tensor, value: float) -> Tensor:
    """Return a number to compare ``x`` with."""
    return filled(x.trace, value, (), x.dtype)
