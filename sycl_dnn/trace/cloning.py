# SPDX-License-Identifier: Apache-2.0
"""Tensors of the same elements: copies for writes to one of two, and constants to gradients."""

from __future__ import annotations

from typing import Any

from sycl_dnn.trace import functions, layout


def contiguous(x: Any, **named: Any) -> Any:
    """Return a tensor itself if its elements are contiguous, else possibly a copy."""
    if not hasattr(x, "marks"):
        return x if x.get_array().flags.c_contiguous else functions.copied(x, True)
    dense = layout.row_major_strides(x.shape)
    if x.strides is not None and all(
        n == 1 or own == other for n, own, other in zip(x.shape, x.strides, dense, strict=True)
    ):
        return x
    # A copy in torch, unless the strides there are others.
    return functions.reshape(functions.unsqueeze(x, 0), x.shape)


def clone_of(x: Any, **named: Any) -> Any:
    """Return the same elements, which writes to ``x`` do not change, nor writes to them ``x``."""
    return x.trace.logged(_cloned, x) if hasattr(x, "marks") else functions.copied(x)


def _cloned(x: Any) -> Any:
    # Only memory of the caller's can change before the clone is read.
    clone = _alias(x) if x.storage.argument is None else _copied(x)
    return x.trace.view(x, clone, lambda grad: grad)


def _alias(x: Any) -> Any:
    return type(x)(x.trace, x.storage, x.desc, x.dtype, x.shape, x.offset, x.strides)


def _copied(x: Any) -> Any:
    """Record a copy of a tensor in its order of axes; not on the tape."""
    copy = x.trace.new(layout.like(x.desc, x.dtype), x.shape, x.dtype)
    x.trace.add_step(x.trace.copy_step(x, copy))
    return copy


def stopped(x: Any) -> Any:
    """Return a traced value that is a constant to gradients; anything else unchanged."""
    return x.trace.logged(stop, x) if hasattr(x, "marks") else x


def stop(x: Any) -> Any:
    """Return a tensor of the same elements that is a constant to gradients."""
    return x.trace.closed({"src": x}, lambda: _alias(x), lambda grad: {})
