# SPDX-License-Identifier: Apache-2.0
"""Shared parts of normalizations: scale and shift, checks, empty inputs."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import normalization_flags as flags
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import independent
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def check_shapes(name: str, shape: tuple[int, ...], **tensors: Tensor | None) -> None:
    """Raise unless the tensors are floating point and have ``shape``."""
    check_float(name, **tensors)
    for argument, tensor in tensors.items():
        if tensor is not None and tensor.shape != shape:
            raise ValueError(f"{name}: {argument} must have shape {shape}, got {tensor.shape}")


def check_eps(name: str, eps: float) -> None:
    """Raise for an epsilon that could make a variance negative."""
    if eps < 0:
        raise ValueError(f"{name}: eps must not be negative, got {eps}")


def float32(x: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Convert to float32, in which oneDNN's fast kernels expect scales and statistics."""
    x = x.trace.convert(x, "float32")
    return x if shape is None else reshape(x, shape)


def affine(weight: Tensor | None, bias: Tensor | None) -> tuple[dict[str, Tensor], flags]:
    """Return the scale and shift inputs of a normalization, and its flags."""
    vectors = {"scale": weight, "shift": bias}
    inputs = {n: float32(t, (t.size,)) for n, t in vectors.items() if t is not None}
    result = flags.none
    for name, flag in (("scale", flags.use_scale), ("shift", flags.use_shift)):
        if name in inputs:
            result |= flag
    return inputs, result


def dense_layout(x: Tensor) -> str:
    """Return the layout of (N, C, *S) that ``x`` has or should be converted to."""
    is_row_major = x.desc == layout.row_major(x.shape, x.dtype)
    return "row_major" if is_row_major and not layout.is_channels_last(x.desc) else "channels_last"


def empty_like(x: Tensor, *others: Tensor | None, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return zeros of the shape of ``x``, or another; all gradients are zeros."""
    result = zeros(x.trace, x.shape if shape is None else shape, x.dtype)
    independent([t for t in (x, *others) if t is not None], {"dst": result})
    return result
