# SPDX-License-Identifier: Apache-2.0
"""What the normalizations share: scale and shift per channel, checks, empty arrays."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import normalization_flags as flags
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Entry
from sycl_dnn.dispatch.views import reshape


def check_float(name: str, **tensors: Tensor | None) -> None:
    """Raise TypeError for a tensor whose dtype is no floating-point type."""
    for argument, tensor in tensors.items():
        if tensor is not None and not tensor.is_float:
            raise TypeError(f"{name}: {argument} must have a float dtype, got {tensor.dtype}")


def check_shapes(name: str, shape: tuple[int, ...], **tensors: Tensor | None) -> None:
    """Raise for a tensor that is no float array of ``shape``."""
    check_float(name, **tensors)
    for argument, tensor in tensors.items():
        if tensor is not None and tensor.shape != shape:
            raise ValueError(f"{name}: {argument} must have shape {shape}, got {tensor.shape}")


def check_eps(name: str, eps: float) -> None:
    """Raise for an epsilon that may make a variance negative."""
    if eps < 0:
        raise ValueError(f"{name}: eps must not be negative, got {eps}")


def float32(x: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Return a dense float32 vector: oneDNN's fast kernels take scales and statistics so."""
    x = x.trace.convert(x, "float32")
    return x if shape is None else reshape(x, shape)


def affine(weight: Tensor | None, bias: Tensor | None) -> tuple[dict[str, Tensor], flags]:
    """Return the inputs of a normalization for scale and shift, and its flags."""
    given = {"scale": weight, "shift": bias}
    inputs = {n: float32(t, (t.size,)) for n, t in given.items() if t is not None}
    made = flags.none
    for name, flag in (("scale", flags.use_scale), ("shift", flags.use_shift)):
        if name in inputs:
            made |= flag
    return inputs, made


def dense_layout(x: Tensor) -> str:
    """Return the name of the layout of (N, C, *S) that ``x`` has or is best brought to."""
    is_row_major = x.desc == layout.row_major(x.shape, x.dtype)
    return "row_major" if is_row_major and not layout.is_channels_last(x.desc) else "channels_last"


def empty_like(x: Tensor, *others: Tensor | None) -> Tensor:
    """Return an empty result of ``x``; all gradients are zeros."""
    trace = x.trace
    inputs = {str(i): t for i, t in enumerate((x, *others)) if t is not None}

    def zeros(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {
            n: trace.zeros(layout.row_major(t.shape, t.dtype), t.shape) for n, t in inputs.items()
        }

    made = trace.zeros(layout.row_major(x.shape, x.dtype), x.shape)
    trace.tape.append(Entry("empty", inputs, {"dst": made}, rule=zeros))
    return made
