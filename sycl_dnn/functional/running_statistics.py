# SPDX-License-Identifier: Apache-2.0
"""Running mean and variance of batch and instance normalization."""

from __future__ import annotations

from sycl_dnn._core import engine_kind
from sycl_dnn.dispatch.fused import chain, plus, scale
from sycl_dnn.dispatch.primitives import linear_map
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.affine import (
    check_shapes,
    float32,
)


def check_stats(
    name: str, mean: Tensor | None, var: Tensor | None, channels: int, needed: bool, switch: str
) -> None:
    """Raise for running statistics of which one is missing, or both where they are needed."""
    if (mean is None) != (var is None):
        raise ValueError(
            f"{name}: running_mean and running_var must both be arrays or both be None"
        )
    if needed and mean is None:
        raise ValueError(f"{name}: running_mean must be an array with {switch}, got None")
    check_shapes(name, (channels,), running_mean=mean, running_var=var)


def check_momentum(name: str, momentum: float) -> None:
    """Raise TypeError for what is no number."""
    if isinstance(momentum, bool) or not isinstance(momentum, (int, float)):
        raise TypeError(
            f"{name}: momentum must be a number (1 / n for the average of n calls), got {momentum}"
        )


def update_running(
    name: str, running: dict[str, Tensor], batch: dict[str, Tensor], momentum: float, count: int
) -> None:
    """Record ``running = (1 - momentum) running + momentum batch``, the variance unbiased."""
    factors = {"running_mean": momentum, "running_var": momentum * count / max(count - 1, 1)}
    for argument, old in running.items():
        made = _weighted(1.0 - momentum, float32(old), factors[argument], batch[argument])
        old.trace.update(old, made, f"{name}: {argument}")


def _weighted(a: float, x: Tensor, b: float, y: Tensor) -> Tensor:
    """Return ``a * x + b * y`` of dense vectors."""
    if x.trace.engine.kind is engine_kind.gpu:
        # oneDNN's own sum may take the factor of one operand for the other there.
        return chain(x, scale(a), plus(linear_map(y, b)))
    made = x.trace.primitive(
        "sum",
        {"multiple_src_0": x, "multiple_src_1": y},
        {"dst": Out(x.shape, "float32")},
        ask={"multiple_src_0": "row_major"},
        scales=[a, b],
    )
    return made["dst"]
