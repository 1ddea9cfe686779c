# SPDX-License-Identifier: Apache-2.0
"""The Kullback-Leibler divergence of distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.dispatch.fused import EXP, chain, fused, plus, scale, times
from sycl_dnn.dispatch.primitives import broadcast_shape, broadcast_to, linear_map
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.loss_dtypes import promoted
from sycl_dnn.functional.loss_reduction import checked_reduction, loss, pointwise_loss
from sycl_dnn.functional.probability_loss import bounded_log

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array

__all__ = ["kl_div"]


def _divergence(x: Tensor, t: Tensor) -> Tensor:
    entropy = fused(algorithm.binary_mul, bounded_log(t), t)
    return fused(algorithm.binary_mul, t, x, scale(-1), plus(entropy))


def _divergence_of_logs(x: Tensor, t: Tensor) -> Tensor:
    return fused(algorithm.binary_sub, t, x, times(chain(t, EXP)))


#: By ``log_target``: the elements and the slopes.
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
        Logarithms of probabilities.
    target : dpnp.ndarray or Array (N, *)
        Probabilities; shapes broadcast, dtypes that differ are promoted.
    log_target : bool
        Whether the target holds logarithms, too.
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
