# SPDX-License-Identifier: Apache-2.0
"""Scales of ``dst`` that oneDNN finds itself, from the largest value of each group.

Source: oneDNN's guide on quantisation (dynamic quantisation, MX and others).
"""

from __future__ import annotations

import numpy as np

from sycl_dnn.verify.attr_text import Quantity
from sycl_dnn.verify.call import Call
from sycl_dnn.verify.encoding import largest, rounded

POLICIES = ("mx", "dynamic_fp")


def quantity(call: Call) -> Quantity | None:
    """Return the scale of ``dst`` that the execution writes; None where there is none."""
    dynamic = (q for q in call.attr.scales if q.arg == "dst" and q.policy in POLICIES)
    return next(dynamic, None)


def _largest_of_groups(x: np.ndarray, groups: tuple[int, ...]) -> np.ndarray:
    sizes = np.abs(x)
    for axis, group in enumerate(groups, start=x.ndim - len(groups)):
        sizes = np.maximum.reduceat(sizes, np.arange(0, x.shape[axis], group), axis=axis)
    return sizes


def scales(scale: Quantity, x: np.ndarray, dtype: str) -> np.ndarray:
    """Return the scale of each group of ``x``, whose results have type ``dtype``.

    MX rounds both the largest value and that of the type down to powers of two before it divides.
    The other way oneDNN 3.13 gives groups of zeros the scale 1 and has no bounds.
    """
    top = _largest_of_groups(x, scale.groups)
    if scale.policy == "mx":
        return rounded(
            rounded(top, scale.dtype) / rounded(np.asarray(largest(dtype)), scale.dtype),
            scale.dtype,
        )
    return rounded(np.where(top == 0, 1.0, top / largest(dtype)), scale.dtype)
