# SPDX-License-Identifier: Apache-2.0
"""Binary cross entropy, Kullback-Leibler divergence, and Poisson and Gaussian likelihoods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.functional.activation.activations import log_of_one_plus_exp, logsigmoid
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.loss.loss_reduction import (
    check_dtypes,
    checked_reduction,
    loss,
    pointwise_loss,
    promoted,
    reduced,
)
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.gradients import stopped
from sycl_dnn.trace.pointwise import (
    EXP,
    IS_POSITIVE,
    LARGEST,
    LOG,
    broadcast_to,
    chain,
    clip,
    fused,
    linear_map,
    minus,
    mul,
    plus,
    power,
    scale,
    sub,
    times,
)
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


_LOGISTIC = (algorithm.eltwise_logistic,)
SOURCE = 'oneDNN developer guide, "Binary", "Eltwise" and "Reduction"'


def bounded_log(p: Tensor, lowest: float = -100.0) -> Tensor:
    """Return ``max(log(p), lowest)``."""
    made = chain(p, LOG, clip(lowest, LARGEST))
    if p.dtype != "float32":
        return made
    # oneDNN's logarithm has errors of 4e-6; one Newton step reduces them to 2e-7.
    steps = (scale(-1), clip(-LARGEST, 88.0), EXP, times(p), scale(1, -1), clip(-1e-4, 1e-4))
    return chain(made, *steps, plus(made))


def _checked_factors(
    name: str, input: Tensor, target: Tensor, **factors: Tensor | None
) -> list[Tensor | None]:
    """Check shapes; return the factors in the dtype of the input."""
    check_float(name, **factors)
    if target.shape != input.shape:
        raise ValueError(
            f"{name}: target must have the shape of input, {input.shape}, got {target.shape}"
        )
    for argument, tensor in factors.items():
        if tensor is None:
            continue
        try:
            fits = broadcast_shape(tensor.shape, input.shape) == input.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"{name}: {argument} must broadcast to the shape of input, {input.shape}, got "
                f"{tensor.shape}"
            )
    return [None if t is None else converted(t, input.dtype) for t in factors.values()]


def _cross_entropy(p: Tensor, t: Tensor) -> Tensor:
    log_p, log_q = bounded_log(p), bounded_log(chain(p, scale(-1, 1)))
    positive = fused(algorithm.binary_mul, t, log_p)
    return fused(algorithm.binary_mul, log_q, t, scale(-1), plus(log_q), plus(positive), scale(-1))


def _cross_entropy_slope(g: Tensor, p: Tensor, t: Tensor) -> Tensor:
    variance = (scale(-1, 1), times(p), clip(1e-12, LARGEST))
    inverse = chain(p, *variance, power(-1))
    return fused(algorithm.binary_sub, p, t, times(inverse), times(g))


def _cross_entropy_slope_at_target(g: Tensor, p: Tensor, t: Tensor) -> Tensor:
    # Unclamped, as in torch: infinite for probabilities of 0 and 1.
    log_p, log_q = (bounded_log(v, -math.inf) for v in (p, chain(p, scale(-1, 1))))
    return fused(algorithm.binary_sub, log_q, log_p, times(g))


@loss(SOURCE)
def binary_cross_entropy(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> dpnp.ndarray | Array:
    """Return ``-(target * log(input) + (1 - target) * log(1 - input))``.

    input : dpnp.ndarray or Array (*)
        Probabilities, 0 to 1, unchecked. Logarithms are clamped to at least -100.
    target : dpnp.ndarray or Array (*)
        Shape and dtype of the input; 0 to 1.
    weight : dpnp.ndarray or Array, optional
        Factors of the elements; broadcasts to the input's shape.
    """
    name = "binary_cross_entropy"
    reduction = checked_reduction(name, reduction, size_average, reduce)
    check_dtypes(name, input, target=target)
    (weight,) = _checked_factors(name, input, target, weight=weight)
    slopes = {"input": _cross_entropy_slope, "target": _cross_entropy_slope_at_target}
    operands = {"input": input, "target": target}
    if weight is None:
        return pointwise_loss(operands, _cross_entropy, slopes, reduction)
    elements = pointwise_loss(operands, _cross_entropy, slopes, "none")
    return reduced(mul(elements, weight), reduction)


def _of_logits(x: Tensor, t: Tensor) -> Tensor:
    """Return ``max(x, 0) - t * x + log(1 + exp(-abs(x)))``."""
    # A single product: for infinite x the difference would be NaN.
    linear_part = chain(x, *IS_POSITIVE, minus(t), times(x))
    s, steps = log_of_one_plus_exp(x, 1.0)
    return chain(s, *steps, plus(linear_part))


@loss(SOURCE)
def binary_cross_entropy_with_logits(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    weight: dpnp.ndarray | Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array:
    """Return ``binary_cross_entropy(sigmoid(input), target)``, numerically stable.

    input, target : dpnp.ndarray or Array (*)
        Logits and probabilities, with equal shapes. The result has the dtype of the target.
    weight : dpnp.ndarray or Array, optional
        Factors of the elements; broadcasts to the input's shape.
    pos_weight : dpnp.ndarray or Array, optional
        Factors of ``log(sigmoid(input))``, the term of positive examples; broadcasts likewise.
    """
    name = "binary_cross_entropy_with_logits"
    reduction = checked_reduction(name, reduction, size_average, reduce)
    dtype = target.dtype
    input, target = promoted(name, input, target=target)
    factors = {"weight": weight, "pos_weight": pos_weight}
    weight, pos_weight = _checked_factors(name, input, target, **factors)
    return converted(_logistic(input, target, weight, pos_weight, reduction), dtype)


def _logistic(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: str,
) -> Tensor:
    if weight is None and pos_weight is None:
        slopes = {
            "input": lambda g, x, t: chain(x, _LOGISTIC, minus(t), times(g)),
            "target": lambda g, x, t: chain(x, scale(-1), times(g)),
        }
        return pointwise_loss({"input": input, "target": target}, _of_logits, slopes, reduction)
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = mul(logs, linear_map(mul(linear_map(pos_weight, 1, -1), target), 1, 1))
    elements = sub(mul(linear_map(target, -1, 1), input), logs)
    return reduced(elements if weight is None else mul(elements, weight), reduction)


bce_with_logits = binary_cross_entropy_with_logits


# --- Kullback-Leibler divergence


def _divergence(x: Tensor, t: Tensor) -> Tensor:
    entropy = fused(algorithm.binary_mul, bounded_log(t), t)
    return fused(algorithm.binary_mul, t, x, scale(-1), plus(entropy))


def _divergence_of_logs(x: Tensor, t: Tensor) -> Tensor:
    return fused(algorithm.binary_sub, t, x, times(chain(t, EXP)))


#: By ``log_target``: the values and the gradients.
_DIVERGENCES = {
    False: (
        _divergence,
        {
            "input": lambda g, x, t: chain(t, scale(-1), times(g)),
            "target": lambda g, x, t: fused(
                algorithm.binary_sub, bounded_log(t), x, scale(1, 1), times(g)
            ),
        },
    ),
    True: (
        _divergence_of_logs,
        {
            "input": lambda g, x, t: chain(t, EXP, scale(-1), times(g)),
            "target": lambda g, x, t: fused(
                algorithm.binary_sub, t, x, scale(1, 1), times(chain(t, EXP)), times(g)
            ),
        },
    ),
}


@loss(choices='{"mean", "batchmean", "sum", "none"}', shape="as input and target broadcast")
def kl_div(
    input: dpnp.ndarray | Array,
    target: dpnp.ndarray | Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> dpnp.ndarray | Array:
    """Return ``target * (log(target) - input)``.

    input : dpnp.ndarray or Array (N, *)
        Log-probabilities.
    target : dpnp.ndarray or Array (N, *)
        Probabilities; shapes broadcast and dtypes are promoted.
    log_target : bool
        Whether the target is logarithmic too.
    """
    known = ("none", "mean", "sum", "batchmean")
    reduction = checked_reduction("kl_div", reduction, size_average, reduce, known)
    input, target = promoted("kl_div", input, target=target)
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "kl_div: reduction='mean' divides by the number of elements; the divergence of a "
            "batch of distributions is 'batchmean'",
        )
    try:
        shape = broadcast_shape(input.shape, target.shape)
    except ValueError:
        raise ValueError(
            f"kl_div: target must broadcast with input, {input.shape}, got {target.shape}"
        ) from None
    operands = {"input": broadcast_to(input, shape), "target": broadcast_to(target, shape)}
    value, slopes = _DIVERGENCES[bool(log_target)]
    if reduction != "batchmean":
        return pointwise_loss(operands, value, slopes, reduction)
    made = pointwise_loss(operands, value, slopes, "sum")
    return linear_map(made, 1 / input.shape[0] if input.ndim and input.shape[0] else 1.0)


@loss(SOURCE)
def poisson_nll_loss(
    input: dpnp.ndarray | Array, target: dpnp.ndarray | Array, log_input: bool = True,
    full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
    reduce: bool | None = None, reduction: str = "mean",
) -> dpnp.ndarray | Array:  # fmt: skip
    """Return the negative log-likelihood of the Poisson distribution, up to a constant.

    With ``log_input`` the gradient at NaN is infinite, unless ``set_nan("propagate")``.

    input : dpnp.ndarray or Array (*)
        Expected counts or their logarithms.
    target : dpnp.ndarray or Array (*)
        Observed counts; shapes broadcast.
    log_input : bool
        Whether the input is logarithmic.
    full : bool
        Whether to add Stirling's approximation of the constant for counts above 1.
    eps : float
        Added to expected counts before taking the logarithm.
    """
    reduction = checked_reduction("poisson_nll_loss", reduction, size_average, reduce)
    check_float("poisson_nll_loss", input=input)
    t = converted(target, input.dtype)
    if log_input:
        made = F.sub(F.exp(input), F.mul(t, input))
    else:
        made = F.sub(input, F.mul(t, F.log(F.add(input, eps))))
    if full:
        counts = F.clamp(t, min=1.0)
        logs = F.log(counts)
        rest = F.add(F.mul(logs, 0.5), 0.5 * math.log(2 * math.pi))
        rest = F.add(F.sub(F.mul(counts, logs), counts), rest)
        made = F.add(made, F.where(F.gt(t, 1), rest, 0.0))
    return reduced(made, reduction)


def _variances(input: Tensor, var: Tensor | float) -> Tensor | float:
    """Return variances that broadcast with the input."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, got {var}")
        return var
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return F.unsqueeze(var, -1)
    pairs = list(zip(input.shape, var.shape, strict=False))
    if len(input.shape) == len(var.shape) and any(m == 1 for n, m in pairs if n != m):
        return var
    raise ValueError(
        f"gaussian_nll_loss: var must have the shape of input, {input.shape}, less its last axis "
        f"or with axes of size 1, got {var.shape}"
    )


@loss(SOURCE)
def gaussian_nll_loss(
    input: dpnp.ndarray | Array, target: dpnp.ndarray | Array, var: dpnp.ndarray | Array | float,
    full: bool = False, eps: float = 1e-6, reduction: str = "mean",
) -> dpnp.ndarray | Array:  # fmt: skip
    """Return ``0.5 * (log(var) + (input - target)**2 / var)``.

    input, target : dpnp.ndarray or Array (*)
        Means and values.
    var : dpnp.ndarray, Array or float
        Variances: shape of the input, or without its last axis, or with axes of size 1. Array
        values are not checked: negative ones are clamped to ``eps``.
    full : bool
        Whether to add ``0.5 * log(2 * pi)``.
    eps : float
        Lower bound for the variance; does not affect gradients.
    """
    reduction = checked_reduction("gaussian_nll_loss", reduction)
    check_float("gaussian_nll_loss", input=input, target=target)
    found = _variances(input, var)
    difference = F.square(F.sub(input, target))
    constant = 0.5 * math.log(2 * math.pi) if full else 0.0
    if not isinstance(found, Tensor):
        least = max(float(found), eps)
        made = F.add(F.mul(difference, 0.5 / least), 0.5 * math.log(least) + constant)
    else:
        check_float("gaussian_nll_loss", var=found)
        least = F.add(found, stopped(F.sub(F.clamp(found, min=eps), found)))
        made = F.mul(F.add(F.log(least), F.div(difference, least)), 0.5)
        made = F.add(made, constant) if full else made
    return reduced(made, reduction)
