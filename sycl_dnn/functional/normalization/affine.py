# SPDX-License-Identifier: Apache-2.0
"""Shared parts of normalizations: scale and shift, checks, empty inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sycl_dnn._core import algorithm
from sycl_dnn._core import normalization_flags as flags
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import add, binary, eltwise, fused, linear_map, mul, plus, sub, zeros
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
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
    given = {"scale": weight, "shift": bias}
    inputs = {n: float32(t, (t.size,)) for n, t in given.items() if t is not None}
    made = flags.none
    for name, flag in (("scale", flags.use_scale), ("shift", flags.use_shift)):
        if name in inputs:
            made |= flag
    return inputs, made


def composed_norm(
    inputs: Mapping[str, Tensor], axes: Sequence[int], eps: float, kind: flags
) -> dict[str, Tensor]:
    """Normalize over ``axes`` by differentiable operations, for higher-order gradients.

    ``inputs`` are those of oneDNN's primitive, ``kind`` its flags. Scale and shift apply along the
    axis that batch normalization does not reduce, else along the last axis.
    """
    x = float32(inputs["src"])
    along = x.ndim - 1 if axes == [x.ndim - 1] else 1
    shape = [x.shape[along] if a == along else 1 for a in range(x.ndim)]
    if not kind & flags.rms_norm:
        x = sub(x, reduce(algorithm.reduction_mean, x, axes))
    variance = reduce(algorithm.reduction_mean, mul(x, x), axes)
    made = mul(x, eltwise(linear_map(variance, 1.0, eps), algorithm.eltwise_pow, 1.0, -0.5))
    if "scale" in inputs:
        made = mul(made, reshape(inputs["scale"], shape))
    if "shift" in inputs:
        made = add(made, reshape(inputs["shift"], shape))
    return {"dst": x.trace.convert(made, inputs["src"].dtype)}


def per_channel(vector: Tensor, rank: int) -> Tensor:
    """Return a view (1, C, 1...) of a dense (C,), with the strides that fast kernels require."""
    vector = vector.trace.plain(vector)
    shape = (1, vector.size) + (1,) * (rank - 2)
    return vector.view(shape, layout.row_major_strides(shape))


def scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return ``x * weight + bias`` for (N, C, *S) and vectors (C,), in one pass."""
    inputs, _ = affine(weight, bias)
    if not inputs:
        return x
    if x.ndim > 2 and x.size == x.shape[0] * x.shape[1]:
        # oneDNN adds the wrong channels if there is a single position.
        return reshape(scaled(reshape(x, x.shape[:2]), weight, bias), x.shape)
    vectors = {n: per_channel(_dense(t), x.ndim) for n, t in inputs.items()}

    def body() -> Tensor:
        if "scale" not in vectors:
            return fused(algorithm.binary_add, x, vectors["shift"])
        steps = [plus(vectors["shift"])] if "shift" in vectors else []
        return fused(algorithm.binary_mul, x, vectors["scale"], *steps)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        found = {"src": dy}
        if "scale" in vectors:
            found["src"] = dy.trace.convert(mul(dy, vectors["scale"]), x.dtype)
            found["scale"] = _channel_products(dy, x)
        if "shift" in vectors:
            found["shift"] = _channel_sums(dy)
        return found

    def composed() -> Tensor:
        shape = (1, x.shape[1]) + (1,) * (x.ndim - 2)
        made = x
        if "scale" in inputs:
            made = mul(made, reshape(inputs["scale"], shape))
        if "shift" in inputs:
            made = add(made, reshape(inputs["shift"], shape))
        return x.trace.convert(made, x.dtype)

    return x.trace.closed({"src": x, **inputs}, body, rule, composed)


def _channel_sums(x: Tensor) -> Tensor:
    """Return the sums (C,) of (N, C, *S) in float32."""
    axes = [a for a in range(x.ndim) if a != 1]
    return reshape(reduce(algorithm.reduction_sum, x, axes, "float32"), (x.shape[1],))


def _channel_products(a: Tensor, b: Tensor) -> Tensor:
    """Return the sums (C,) of ``a * b`` of (N, C, *S) in float32."""
    n, channels = a.shape[:2]
    count = a.size // (n * channels)
    if count < 16:
        wide = a.trace.convert(a, "float32")
        return _channel_sums(binary(algorithm.binary_mul, wide, b, "float32"))
    # Products of rows read both inputs once and write almost nothing.
    rows = {"src": reshape(a, (n * channels, 1, count))}
    rows["weights"] = reshape(b, (n * channels, count, 1))
    dots = a.trace.primitive("matmul", rows, {"dst": Out((n * channels, 1, 1), "float32")})
    return _channel_sums(reshape(dots["dst"], (n, channels)))


def _dense(vector: Tensor) -> Tensor:
    wanted = layout.row_major(vector.shape, vector.dtype)
    return vector if vector.desc == wanted else vector.trace.reorder(vector, wanted)


def dense_layout(x: Tensor) -> str:
    """Return the layout of (N, C, *S) that ``x`` has or should be converted to."""
    is_row_major = x.desc == layout.row_major(x.shape, x.dtype)
    return "row_major" if is_row_major and not layout.is_channels_last(x.desc) else "channels_last"


def empty_like(x: Tensor, *others: Tensor | None, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return zeros of the shape of ``x``, or another; all gradients are zeros."""
    trace = x.trace
    inputs = {str(i): t for i, t in enumerate((x, *others)) if t is not None}

    def nothing(dy: Tensor) -> dict[str, Tensor]:
        return {name: zeros(trace, t.shape, t.dtype) for name, t in inputs.items() if t.is_float}

    shape = x.shape if shape is None else shape
    return trace.closed(inputs, lambda: zeros(trace, shape, x.dtype), nothing)
