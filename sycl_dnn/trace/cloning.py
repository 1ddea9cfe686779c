# SPDX-License-Identifier: Apache-2.0
"""Copies of traced tensors, for writes to one of two that are one array otherwise."""

from __future__ import annotations

from typing import Any

from sycl_dnn.trace import functions, layout


def contiguous(x: Any, **named: Any) -> Any:
    """Return a tensor itself if its elements are contiguous, else possibly a copy."""
    dense = layout.row_major_strides(x.shape)
    if x.strides is not None and all(
        n == 1 or own == other for n, own, other in zip(x.shape, x.strides, dense, strict=True)
    ):
        return x
    # A copy in torch, unless the strides there are others.
    return functions.reshape(functions.unsqueeze(x, 0), x.shape)


def clone_of(x: Any) -> Any:
    """Return the same elements, which writes to ``x`` do not change, nor writes to them ``x``."""
    return x.trace.logged(_cloned, x)


def _cloned(x: Any) -> Any:
    # Only memory of the caller's can change before the clone is read.
    if x.storage.argument is not None:
        clone = _copied(x)
    else:
        clone = type(x)(x.trace, x.storage, x.desc, x.dtype, x.shape, x.offset, x.strides)
    return x.trace.view(x, clone, lambda grad: grad)


def _copied(x: Any) -> Any:
    """Record a copy of a tensor in its order of axes; not on the tape."""
    copy = x.trace.new(layout.like(x.desc, x.dtype), x.shape, x.dtype)
    x.trace.add_step(x.trace.copy_step(x, copy))
    return copy
