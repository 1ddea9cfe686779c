# SPDX-License-Identifier: Apache-2.0
"""Group and instance normalization: statistics per sample and group of channels."""

from __future__ import annotations

from functools import partial

from sycl_dnn._core import algorithm, engine_kind, prop_kind
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.normalization.affine import (
    affine,
    check_eps,
    check_shapes,
    dense_layout,
    empty_like,
)
from sycl_dnn.functional.normalization.batch_norm import (
    check_momentum,
    check_stats,
    definition_of,
    update_running,
    vectors_of,
    with_own_stats,
    with_stats,
)
from sycl_dnn.kernels.choice import is_missing
from sycl_dnn.lower.node_lowering import meaning
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


@operation
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each group of channels of each sample: ``(x - mean) / sqrt(var + eps)``.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; float64 if the device supports it; S may be missing.
    num_groups : int
        Must divide C; groups consist of adjacent channels.
    weight, bias : array (C,), optional
        Applied to the normalized values, per channel.
    eps : float

    Returns
    -------
    array (N, C, *S)
        Same dtype and layout as ``input``.

    Raises
    ------
    ValueError
        Shapes do not match, ``num_groups`` does not divide C, or there is only one value.
    TypeError
        A dtype is not floating point.

    Notes
    -----
    Statistics and gradients are sums of generated kernels, in float32 for narrower dtypes. Compiled
    functions without gradients use oneDNN's primitive on CPUs.

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
    return _normalized(input, num_groups, weight, bias, eps)


def _normalized(x, groups, weight, bias, eps):
    """Normalize by oneDNN's primitive between other primitives, else by kernels."""
    axes = tuple(range(2, x.ndim))
    if not _has_primitive(x):
        return with_own_stats(x, axes, groups, weight, bias, eps)[0]
    definition = definition_of(axes, groups, eps, has_weight=weight is not None)
    record = partial(_by_primitive, x, groups, weight, bias, eps)
    return meaning(lambda *nodes: definition(*nodes)[0], [x, *vectors_of(x, weight, bias)], record)


def _has_primitive(x: Tensor) -> bool:
    """Whether the primitive is as fast as kernels, which on CPUs delay the next primitive."""
    trace = x.trace
    is_inference = trace.is_compiled and not trace.training and trace.policy.kernels != "always"
    is_on_cpu = trace.engine.kind is engine_kind.cpu
    return (
        is_inference and is_on_cpu and 2 < x.ndim < 6 and x.dtype != "float64" and not is_missing(x)
    )


def _by_primitive(x, groups, weight, bias, eps):
    vectors, flags = affine(weight, bias)
    result = x.trace.primitive(
        "group_normalization_forward",
        {"src": x, **vectors},
        {"dst": Out(x.shape, x.dtype, dense_layout(x))},
        ask={"src": dense_layout(x)},
        prop_kind=prop_kind.forward_inference,
        groups=groups,
        epsilon=eps,
        flags=flags,
    )
    return result["dst"]


@operation
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample over its positions.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; float64 if the device supports it; S has at least one axis.
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
        Same dtype and layout as ``input``.

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
        return with_stats(input, running_mean, running_var, weight, bias, eps)
    if running_mean is None or running_var is None:
        return _normalized(input, channels, weight, bias, eps)
    axes = range(2, input.ndim)
    result, *stats = with_own_stats(input, axes, channels, weight, bias, eps)
    batch = [_average(t, channels) for t in stats]
    count = input.size // (input.shape[0] * channels)
    update_running(name, (running_mean, running_var), batch, momentum, count)
    return result


def _average(stat: Tensor, channels: int) -> Tensor:
    result = reduce(algorithm.reduction_mean, reshape(stat, (-1, channels)), [0])
    return reshape(result, (channels,))


def _check_instances(name, input, use_input_stats, momentum, eps):
    check_float(name, input=input)
    if input.ndim < 2:
        raise ValueError(f"{name}: input must have shape (N, C, *S), got {input.shape}")
    if use_input_stats and input.size and input.size == input.shape[0] * input.shape[1]:
        raise ValueError(f"{name}: input must have more than 1 position, got {input.shape}")
    check_momentum(name, momentum)
    check_eps(name, eps)
