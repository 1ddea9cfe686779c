# SPDX-License-Identifier: Apache-2.0
"""Group and instance normalization: statistics per sample and group of channels."""

from __future__ import annotations

from functools import partial

import dpnp

from sycl_dnn._core import algorithm, normalization_flags, prop_kind
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import (
    affine,
    check_eps,
    check_shapes,
    composed_norm,
    dense_layout,
    empty_like,
    float32,
    scaled,
)
from sycl_dnn.functional.normalization.batch_norm import (
    check_momentum,
    check_stats,
    update_running,
    with_given_stats,
)
from sycl_dnn.functional.normalization.layer_norm import normalized_rows
from sycl_dnn.kernels.group_statistics import group_normalized
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.pointwise import add, mul
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def _by_rows(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float, keep: bool
) -> dict[str, Tensor]:
    """Normalize (N, C, *S) by layer normalization, with each group as a row.

    Several times faster than oneDNN's group normalization of row-major tensors, whose gradient has
    only a reference implementation.
    """
    n, channels = x.shape[:2]
    made = normalized_rows(reshape(x, (n * groups, -1)), None, None, eps, keep=keep)
    y = scaled(reshape(made["dst"], (n, channels, -1)), weight, bias)
    return {**made, "dst": reshape(y, x.shape)}


def _by_groups(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float, keep: bool
) -> dict[str, Tensor]:
    """Normalize (N, C, *S) in channels-last layout, for inference."""
    inputs, given = affine(weight, bias)
    stat = Out((x.shape[0], groups), "float32")
    kept = {"mean": stat, "variance": stat} if keep else {}
    return x.trace.primitive(
        "group_normalization_forward",
        {"src": x, **inputs},
        {"dst": Out(x.shape, x.dtype, "channels_last"), **kept},
        ask={"src": "channels_last"},
        prop_kind=prop_kind.forward_training if keep else prop_kind.forward_inference,
        groups=groups,
        epsilon=eps,
        flags=given,
    )


def _composed(inputs: dict[str, Tensor], groups: int, eps: float) -> dict[str, Tensor]:
    """Compose the normalization from differentiable operations."""
    x = float32(inputs["src"])
    rows = {"src": reshape(x, (x.shape[0] * groups, -1))}
    made = reshape(composed_norm(rows, [1], eps, normalization_flags.none)["dst"], x.shape)
    shape = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    if "scale" in inputs:
        made = mul(made, reshape(inputs["scale"], shape))
    if "shift" in inputs:
        made = add(made, reshape(inputs["shift"], shape))
    return {"dst": x.trace.convert(made, inputs["src"].dtype)}


def _grouped(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float,
    keep: bool = False,
) -> dict[str, Tensor]:  # fmt: skip
    vectors, _ = affine(weight, bias)
    made = group_normalized(x, groups, vectors, eps, partial(_composed, groups=groups, eps=eps))
    if made is not None:
        return made
    is_plain = x.trace.training or dense_layout(x) == "row_major"
    normalize = _by_rows if is_plain or not 2 < x.ndim < 6 else _by_groups
    return normalize(x, groups, weight, bias, eps, keep)


@operation
def group_norm(
    input: dpnp.ndarray | Array,
    num_groups: int,
    weight: dpnp.ndarray | Array | None = None,
    bias: dpnp.ndarray | Array | None = None,
    eps: float = 1e-5,
) -> dpnp.ndarray | Array:
    """Normalize each group of channels of each sample: ``(x - mean) / sqrt(var + eps)``.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; S may be missing.
    num_groups : int
        Must divide C; groups are made of adjacent channels.
    weight, bias : array (C,), optional
        Applied to the normalized values, per channel.
    eps : float

    Returns
    -------
    array (N, C, *S)
        Same dtype as ``input``.

    Raises
    ------
    ValueError
        Shapes do not match, ``num_groups`` does not divide C, or there is only one value.
    TypeError
        A dtype is not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Group Normalization"; Wu and He, arXiv:1803.08494.
    """
    check_float("group_norm", input=input)
    shape = input.shape
    if input.ndim < 2:
        raise ValueError(f"group_norm: input must have shape (N, C, *S), got {shape}")
    if num_groups < 1 or shape[1] % num_groups:
        raise ValueError(
            f"group_norm: num_groups must divide the {shape[1]} channels, got {num_groups}"
        )
    check_shapes("group_norm", (shape[1],), weight=weight, bias=bias)
    check_eps("group_norm", eps)
    if input.size == num_groups:
        raise ValueError(f"group_norm: input must have more than 1 value per group, got {shape}")
    if not input.size:
        return empty_like(input, weight, bias)
    return _grouped(input, num_groups, weight, bias, eps)["dst"]


@operation
def instance_norm(
    input: dpnp.ndarray | Array,
    running_mean: dpnp.ndarray | Array | None = None,
    running_var: dpnp.ndarray | Array | None = None,
    weight: dpnp.ndarray | Array | None = None,
    bias: dpnp.ndarray | Array | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> dpnp.ndarray | Array:
    """Normalize each channel of each sample over its positions.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; S has at least one axis.
    running_mean, running_var : array (C,) or None
        With ``use_input_stats`` they are updated, if given: ``(1 - momentum) * running + momentum *
        average over the samples``, with unbiased variances. Otherwise they are used for all
        samples.
    weight, bias : array (C,), optional
    use_input_stats : bool
    momentum : float
    eps : float

    Returns
    -------
    array (N, C, *S)
        Same dtype as ``input``.

    Raises
    ------
    ValueError
        Shapes do not match, running statistics are missing or read-only, or there is only one
        position.
    TypeError
        A dtype is not floating point, or ``momentum`` is not a number.

    Notes
    -----
    Source: oneDNN developer guide, "Group Normalization"; Ulyanov et al., arXiv:1607.08022.
    """
    name = "instance_norm"
    _check_instances(name, input, use_input_stats, momentum, eps)
    channels = input.shape[1]
    switch = "use_input_stats=False"
    check_stats(name, running_mean, running_var, channels, not use_input_stats, switch)
    check_shapes(name, (channels,), weight=weight, bias=bias)
    if not input.size:
        return empty_like(input, weight, bias)
    if not use_input_stats:
        return with_given_stats(input, running_mean, running_var, weight, bias, eps)
    has_running = running_mean is not None
    made = _grouped(input, channels, weight, bias, eps, keep=has_running)
    if has_running:
        running = {"running_mean": running_mean, "running_var": running_var}
        batch = {"running_mean": made["mean"], "running_var": made["variance"]}
        batch = {n: _average(t, channels) for n, t in batch.items()}
        count = input.size // (input.shape[0] * channels)
        update_running(name, running, batch, momentum, count)
    return made["dst"]


def _average(stat: Tensor, channels: int) -> Tensor:
    made = reduce(algorithm.reduction_mean, reshape(stat, (-1, channels)), [0])
    return reshape(made, (channels,))


def _check_instances(name, input, use_input_stats, momentum, eps):
    check_float(name, input=input)
    if input.ndim < 2:
        raise ValueError(f"{name}: input must have shape (N, C, *S), got {input.shape}")
    if use_input_stats and input.size and input.size == input.shape[0] * input.shape[1]:
        raise ValueError(f"{name}: input must have more than 1 position, got {input.shape}")
    check_momentum(name, momentum)
    check_eps(name, eps)
