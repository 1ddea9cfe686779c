# SPDX-License-Identifier: Apache-2.0
"""Batch normalization: statistics per channel over the batch and all positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import (
    check_eps,
    check_shapes,
    dense_layout,
    empty_like,
    float32,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import normalization as ops
from sycl_dnn.ops.arithmetic import RSQRT, cast
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def check_stats(
    name: str, mean: Tensor | None, var: Tensor | None, channels: int, needed: bool, switch: str
) -> None:
    """Raise if one running statistic is missing, or both if they are needed."""
    if (mean is None) != (var is None):
        raise ValueError(
            f"{name}: running_mean and running_var must both be arrays or both be None"
        )
    if needed and mean is None:
        raise ValueError(f"{name}: running_mean must be an array with {switch}, got None")
    check_shapes(name, (channels,), running_mean=mean, running_var=var)


def check_momentum(name: str, momentum: float) -> None:
    """Raise TypeError for anything but a number."""
    if isinstance(momentum, bool) or not isinstance(momentum, (int, float)):
        raise TypeError(
            f"{name}: momentum must be a number (1 / n for the average of n calls), got {momentum}"
        )


def update_running(
    name: str, running: Sequence[Tensor], batch: Sequence[Tensor], momentum: float, count: int
) -> None:
    """Record ``running = (1 - momentum) running + momentum batch`` for mean and variance.

    The running variance is the unbiased one.
    """
    factors = (momentum, momentum * count / max(count - 1, 1))
    arguments = ("running_mean", "running_var")
    for argument, old, new, factor in zip(arguments, running, batch, factors, strict=True):
        result = computed(_weighted, old, new, 1.0 - momentum, factor, dtype=new.dtype)
        old.trace.update(old, result, f"{name}: {argument}")


def _weighted(running: Node, batch: Node, old_share: Node, new_share: Node) -> Node:
    return cast(cast(running, batch.dtype) * old_share + batch * new_share, running.dtype)


# --- Batch normalization


def vectors_of(x: Tensor, *vectors: Tensor | None) -> list[Tensor]:
    """Return vectors (C,) other than None as (1, C, 1...), which broadcast with ``x``."""
    shape = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    return [reshape(t, shape) for t in vectors if t is not None]


def with_own_stats(
    x: Tensor,
    axes: Sequence[int],
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize (N, C, *S) over axes and groups of channels; also return mean and variance."""
    vectors = vectors_of(x, weight, bias)
    # If groups are contiguous rows in memory, sums over whole rows are faster than over channels.
    is_in_rows = 0 not in axes and groups < x.shape[1] and dense_layout(x) == "row_major"
    rows = [reshape(x, (x.shape[0], groups, -1))] if is_in_rows else []
    has_weight = weight is not None
    definition = definition_of(axes, groups, eps, has_weight=has_weight, has_rows=bool(rows))
    result, mean, variance, _ = all_computed(definition, x, *rows, *vectors)
    return result, mean, variance


def definition_of(
    axes: Sequence[int], groups: int, eps: float, *, has_weight: bool, has_rows: bool = False
) -> Callable[..., tuple[Node, ...]]:
    """Return the normalization of (N, C, *S), its groups as rows, and vectors, with statistics."""

    def definition(node: Node, *others: Node) -> tuple[Node, ...]:
        wide = dtypes.wide(node.dtype)
        args = [cast(v, wide) for v in (node, *others[has_rows:])]
        rows = cast(others[0], wide) if has_rows else None
        result, *stats = ops.normalized(
            *args, axes=tuple(axes), groups=groups, eps=eps, rows=rows, has_weight=has_weight
        )
        return cast(result, node.dtype), *stats

    return definition


def with_stats(
    x: Tensor, mean: Tensor | None, var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    eps: float,
) -> Tensor:  # fmt: skip
    """Normalize (N, C, *S) with a mean and a variance per channel, both checked not to be None."""
    assert mean is not None
    assert var is not None
    if x.trace.is_compiled and not x.trace.training and x.dtype != "float64":
        return _scaled(x, *_factor_and_offset(mean, var, weight, bias, eps))
    wide = dtypes.wide(x.dtype)
    vectors = vectors_of(x, mean, var, weight, bias)

    def definition(*nodes: Node) -> Node:
        node, mean, variance, *others = (cast(v, wide) for v in nodes)
        slope = RSQRT(variance + eps)
        slope = slope * others[0] if weight is not None else slope
        result = (node - mean) * slope
        return cast(result + others[-1] if bias is not None else result, x.dtype)

    return computed(definition, x, *vectors)


def _factor_and_offset(
    mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, ...]:
    """Return the (C,) vectors a and b for which the normalization is ``x * a + b``."""

    def definition(mean: Node, var: Node, *rest: Node) -> tuple[Node, Node]:
        supply = iter(rest)
        a = RSQRT(var + eps)
        a = a if weight is None else a * next(supply)
        b = mean * a
        return a, -b if bias is None else next(supply) - b

    vectors = [float32(t) for t in (mean, var, weight, bias) if t is not None]
    return all_computed(definition, *vectors)


def _scaled(x: Tensor, factor: Tensor, offset: Tensor) -> Tensor:
    """Record ``x * factor + offset`` for vectors (C,), which passes fold into weights or fuse."""
    if x.size == x.shape[0] * x.shape[1]:  # oneDNN adds the wrong channels for a single position
        shape: tuple[int, ...] = x.shape[:2]
    else:
        shape = x.shape if x.ndim < 6 else (*x.shape[:2], x.size // (x.shape[0] * x.shape[1]))
    flat = reshape(x.trace.plain(x), shape)
    vector = (1, factor.size) + (1,) * (flat.ndim - 2)  # with the strides that are fast
    a, b = (t.view(vector, layout.row_major_strides(vector)) for t in (factor, offset))
    post_ops, attr = PostOps(), PrimitiveAttr()
    post_ops.append_binary(algorithm.binary_add, b.desc)
    attr.set_post_ops(post_ops)
    inputs = {"src_0": flat, "src_1": a, "attr_post_op_0_src_1": b}
    outs = {"dst": Out(flat.shape, x.dtype, flat)}
    result = x.trace.primitive("binary", inputs, outs, attr=attr, algorithm=algorithm.binary_mul)
    return reshape(result["dst"], x.shape)


@operation
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel over the batch: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; float64 if the device supports it; S may be missing.
    running_mean, running_var : array (C,) or None
        Used if ``training`` is False; otherwise updated, if given: ``(1 - momentum) * running +
        momentum * batch``, with the unbiased variance of the batch.
    weight, bias : array (C,), optional
    training : bool
        Whether to use the statistics of ``input``.
    momentum : float
        Pass ``1 / n`` in call n for a cumulative average.
    eps : float

    Returns
    -------
    array (N, C, *S)
        Same dtype as ``input``; same layout if that is row-major or channels-last.

    Raises
    ------
    ValueError
        Shapes do not match, running statistics are missing or read-only, or there is only one value
        per channel in training.
    TypeError
        A dtype is not floating point, or ``momentum`` is not a number.

    Notes
    -----
    Statistics and gradients are sums of generated kernels, in float32 for narrower dtypes. Unlike
    oneDNN's, they are accurate even if a mean is many standard deviations from zero. In compiled
    functions without gradients, given statistics are a scale and a shift, which are folded into the
    weights of a convolution or fused with what follows.

    Source: oneDNN developer guide, "Batch Normalization"; Ioffe and Szegedy, arXiv:1502.03167.
    """
    _check(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not input.size:
        return empty_like(input, weight, bias)
    if not training:
        return with_stats(input, running_mean, running_var, weight, bias, eps)
    channels = input.shape[1]
    axes = (0, *range(2, input.ndim))
    result, *stats = with_own_stats(input, axes, channels, weight, bias, eps)
    if running_mean is not None and running_var is not None:
        batch = [reshape(t, (channels,)) for t in stats]
        running = (running_mean, running_var)
        update_running("batch_norm", running, batch, momentum, input.size // channels)
    return result


def _check(input, running_mean, running_var, weight, bias, training, momentum, eps):
    name = "batch_norm"
    check_float(name, input=input)
    if input.ndim < 2:
        raise ValueError(f"{name}: input must have shape (N, C, *S), got {input.shape}")
    channels = input.shape[1]
    if training and input.size == channels:
        raise ValueError(
            f"{name}: input must have more than 1 value per channel in training, got {input.shape}"
        )
    check_stats(name, running_mean, running_var, channels, not training, "training=False")
    check_shapes(name, (channels,), weight=weight, bias=bias)
    check_momentum(name, momentum)
    check_eps(name, eps)
