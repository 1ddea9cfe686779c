# SPDX-License-Identifier: Apache-2.0
"""Batch normalization: statistics per channel over the batch and all positions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import dpnp

from sycl_dnn._core import algorithm, engine_kind, normalization_flags, prop_kind
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
    per_channel,
    scaled,
)
from sycl_dnn.kernels.batch_statistics import normalized
from sycl_dnn.kernels.given_statistics import normalized_by
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.gradients import backward, rule_for
from sycl_dnn.trace.pointwise import (
    add,
    chain,
    fused,
    linear_map,
    plus,
    power,
    scale,
    sub,
    times,
)
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, transpose, untaped


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
    name: str, running: dict[str, Tensor], batch: dict[str, Tensor], momentum: float, count: int
) -> None:
    """Record ``running = (1 - momentum) running + momentum batch`` with the unbiased variance."""
    factors = {"running_mean": momentum, "running_var": momentum * count / max(count - 1, 1)}
    for argument, old in running.items():
        made = _weighted(1.0 - momentum, float32(old), factors[argument], batch[argument])
        old.trace.update(old, made, f"{name}: {argument}")


def _weighted(a: float, x: Tensor, b: float, y: Tensor) -> Tensor:
    """Return ``a * x + b * y`` of dense vectors."""
    if x.trace.engine.kind is engine_kind.gpu:
        # oneDNN's sum may confuse the two factors here.
        return chain(x, scale(a), plus(linear_map(y, b)))
    made = x.trace.primitive(
        "sum",
        {"multiple_src_0": x, "multiple_src_1": y},
        {"dst": Out(x.shape, "float32")},
        ask={"multiple_src_0": "row_major"},
        scales=[a, b],
    )
    return made["dst"]


# --- Batch normalization

#: Above this number of elements, more primitives with less memory traffic are faster.
_LARGE = 1 << 15


def _arranged(x: Tensor) -> tuple[Tensor, str, Callable[[Tensor], Tensor]]:
    """Return ``x`` in oneDNN's fastest arrangement, its layout, and the inverse."""
    shape = x.shape
    n, channels = shape[:2]
    count = x.size // (n * channels)
    flat = x if x.ndim < 6 else reshape(x, (n, channels, count))
    if x.size < _LARGE or channels % 16 == 0 or count >= 64:
        wanted = "channels_last" if channels % 16 == 0 else "row_major"
        return flat, dense_layout(flat) if x.size < _LARGE else wanted, lambda y: reshape(y, shape)
    # Few contiguous values: one long row per channel is many times faster.
    rows = reshape(transpose(reshape(x, (n, channels, count)), (1, 0, 2)), (1, channels, -1))

    def back(y: Tensor) -> Tensor:
        return reshape(transpose(reshape(y, (channels, n, count)), (1, 0, 2)), shape)

    return rows, "row_major", back


def with_batch_stats(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, keep: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Normalize (N, C, *S); return the result and, if kept, the batch mean and variance."""
    vectors, given = affine(weight, bias)
    composed = partial(composed_norm, axes=[0, *range(2, x.ndim)], eps=eps, kind=given)
    found = normalized(x, vectors, eps, composed)
    if found is not None:
        return found["dst"], found["mean"], found["variance"]
    centre = _centre(x)
    flat, wanted, back = _arranged(x if centre is None else _centred(x, centre))
    outputs, kind = {}, x.trace.forward_kind
    if keep or x.trace.training:
        kind = prop_kind.forward_training
        outputs = {n: Out((x.shape[1],), "float32") for n in ("mean", "variance")}
    made = _submitted(flat, wanted, vectors, outputs, kind, eps, given)
    mean = made.get("mean")
    if keep and centre is not None and mean is not None:
        mean = add(mean, reshape(centre, mean.shape))
    return back(made["dst"]), mean, made.get("variance")


def _centre(x: Tensor) -> Tensor | None:
    """Return one element (1, C, 1...) of each channel as an estimate of its mean.

    oneDNN sums sequentially in float32, which is inaccurate if the mean is many standard deviations
    from zero; so the estimate is subtracted first, at the cost of a pass over ``x``. None for
    vectors and for narrow dtypes, whose rounding error is larger anyway.
    """
    if x.dtype != "float32" or x.size == x.shape[0] * x.shape[1]:
        return None
    made = x
    with untaped(x.trace):
        for axis in (0, *range(2, x.ndim)):
            made = narrow(made, axis, x.shape[axis] // 2, 1)
    return made


def _centred(x: Tensor, centre: Tensor) -> Tensor:
    """Subtract a constant per channel, on which no result depends."""
    with untaped(x.trace):
        made = sub(x, centre)
    return x.trace.view(x, made, lambda grad: grad)


def with_given_stats(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Normalize (N, C, *S) with the given mean and variance per channel."""
    made = normalized_by(x, _alike(x, mean, var, weight, bias), eps, partial(_composed, eps))
    if made is not None:
        return made
    vectors, given = affine(weight, bias)
    has_fast_kernel = x.shape[1] % 16 == 0 and dense_layout(x) == "channels_last"
    if not (x.trace.training or has_fast_kernel or x.size < _LARGE):
        return by_coefficients(x, mean, var, weight, bias, eps)
    flat, wanted, back = _arranged(x)
    inputs = {**vectors, "mean": float32(mean), "variance": float32(var)}
    given |= normalization_flags.use_global_stats
    kind = x.trace.forward_kind
    return back(_submitted(flat, wanted, inputs, {}, kind, eps, given)["dst"])


def _alike(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None
) -> dict[str, Tensor]:
    """Return the vectors in the dtype of ``x`` if all have it, else in float32."""
    vectors = {"mean": mean, "variance": var, "scale": weight, "shift": bias}
    known = {n: t for n, t in vectors.items() if t is not None}
    if all(t.dtype == x.dtype for t in known.values()):
        return known
    return {n: float32(t) for n, t in known.items()}


def _composed(eps: float, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Compose a normalization with given statistics from differentiable operations."""
    kind = affine(inputs.get("scale"), inputs.get("shift"))[1]
    kind |= normalization_flags.use_global_stats
    given = {n: t if n == "src" else float32(t) for n, t in inputs.items()}
    return composed_norm(given, axes=[0, *range(2, given["src"].ndim)], eps=eps, kind=kind)


def _submitted(
    x: Tensor, wanted: str, inputs: dict[str, Tensor], outputs: dict[str, Out],
    kind: prop_kind, eps: float, given: normalization_flags,
) -> dict[str, Tensor]:  # fmt: skip
    return x.trace.primitive(
        "batch_normalization_forward",
        {"src": x, **inputs},
        {"dst": Out(x.shape, x.dtype, wanted), **outputs},
        ask={"src": wanted},
        prop_kind=kind,
        epsilon=eps,
        flags=given,
        composed=partial(composed_norm, axes=[0, *range(2, x.ndim)], eps=eps, kind=given),
    )


def by_coefficients(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Return ``x * a + b``, with statistics, weight and bias folded into one factor and offset."""
    return scaled(x, *coefficients(mean, var, weight, bias, eps))


def coefficients(
    mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the (C,) vectors a and b for which the normalization is ``x * a + b``."""
    vectors = {"mean": mean, "var": var, "weight": weight, "bias": bias}
    v = {n: per_channel(float32(t), 2) for n, t in vectors.items() if t is not None}
    more = [times(v["weight"])] if "weight" in v else []
    a = chain(v["var"], scale(1.0, eps), power(-0.5), *more)
    more = [plus(v["bias"])] if "bias" in v else []
    b = fused(algorithm.binary_mul, v["mean"], a, scale(-1.0), *more)
    return reshape(a, (mean.size,)), reshape(b, (mean.size,))


@rule_for("batch_normalization_forward")
def _batch_normalization(trace, entry, grads, needed):
    row = "batch_normalization_backward"
    return backward(trace, row, entry, grads, needed, prop_kind=prop_kind.backward)


@operation
def batch_norm(
    input: dpnp.ndarray | Array,
    running_mean: dpnp.ndarray | Array | None,
    running_var: dpnp.ndarray | Array | None,
    weight: dpnp.ndarray | Array | None = None,
    bias: dpnp.ndarray | Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> dpnp.ndarray | Array:
    """Normalize each channel over the batch: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Parameters
    ----------
    input : array (N, C, *S)
        float32, bfloat16 or float16; S may be missing.
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
    Large arrays on CPUs are normalized by a generated kernel (``sycl_dnn.set_kernels``), which is
    accurate even if a mean is many standard deviations from zero. oneDNN's sums are not, so for
    float32 one element per channel is subtracted first, which takes another pass over ``input``.
    oneDNN also accumulates gradients sequentially: with ``set_kernels("never")`` their error is 2
    to 11 times torch's in row-major arrays.

    Source: oneDNN developer guide, "Batch Normalization"; Ioffe and Szegedy, arXiv:1502.03167.
    """
    _check(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not input.size:
        return empty_like(input, weight, bias)
    if not training:
        return with_given_stats(input, running_mean, running_var, weight, bias, eps)
    has_running = running_mean is not None
    made, mean, var = with_batch_stats(input, weight, bias, eps, has_running)
    if has_running:
        running = {"running_mean": running_mean, "running_var": running_var}
        batch = {"running_mean": mean, "running_var": var}
        update_running("batch_norm", running, batch, momentum, input.size // input.shape[1])
    return made


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
