# SPDX-License-Identifier: Apache-2.0
"""Distributions built from others: images under transforms, and mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import stop_gradient
from sycl_dnn.nn.torch_distributions.discrete import Categorical
from sycl_dnn.nn.torch_distributions.distribution import (
    Distribution,
    method,
    moment,
    sum_of_last,
)
from sycl_dnn.nn.torch_distributions.event_transforms import ComposeTransform, Transform
from sycl_dnn.trace.module_arrays import plain, with_methods


class TransformedDistribution(
    Distribution, base_distribution="Distribution", transforms="Transform, or sequence of them"
):
    """The distribution of transformed values of a base, such as ``tanh`` of normal ones."""

    def __init__(
        self, base_distribution: Any, transforms: Transform | Sequence[Transform],
        validate_args: Any = None,
    ) -> None:  # fmt: skip
        given = [transforms] if isinstance(transforms, Transform) else list(transforms)
        whole, count = ComposeTransform(given), len(base_distribution.event_shape)
        own_shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        shape = whole.forward_shape(own_shape)
        at = len(shape) - max(count, whole.event_dim)
        if at < 0:
            raise ValueError(
                f"TransformedDistribution: transforms of events of {whole.event_dim} axes must "
                f"have a base with as many axes, got the shape {own_shape}"
            )
        if shape != own_shape:
            base_distribution = base_distribution.expand(shape[: len(shape) - count])
        self.base_dist, self.transforms = base_distribution, given
        super().__init__(shape[:at], shape[at:])

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether samples have gradients."""
        return bool(self.base_dist.has_rsample)

    def expand(self, batch_shape: Any) -> TransformedDistribution:
        """Return the distribution for a larger batch."""
        own = len(self.event_shape) - len(self.base_dist.event_shape)
        axes = (*batch_shape, *self.event_shape[:own])
        return TransformedDistribution(self.base_dist.expand(axes), self.transforms)

    def _image(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape, *event_shape) without a gradient."""
        return with_methods(stop_gradient(plain(self._image(self.base_dist.sample(sample_shape)))))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the parameters of the base and of the transforms."""
        return self._image(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        total: Any = 0.0
        count = len(self.event_shape)
        for transform in reversed(self.transforms):
            x = transform.inverted(value)
            own = plain(transform.log_abs_det_jacobian(x, value))
            total = F.sub(total, sum_of_last(own, count - transform.event_dim))
            value = x
        parts = plain(self.base_dist.log_prob(value))
        return with_methods(
            F.add(sum_of_last(parts, count - len(self.base_dist.event_shape)), total)
        )


class MixtureSameFamily(
    Distribution, mixture_distribution="Categorical\n    The weights (*, k).",
    component_distribution="Distribution\n    Of a batch (*, k).",
):  # fmt: skip
    """A mixture: categories along the last axis of the components' batch."""

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Any,
        validate_args: Any = None,
    ) -> None:  # fmt: skip
        weights, parts = mixture_distribution, component_distribution
        counts = int(weights.logits.shape[-1]), parts.batch_shape[-1:]
        if counts[1] != counts[:1]:
            raise ValueError(
                f"MixtureSameFamily: the components must have {counts[0]} along the last axis of "
                f"the batch, got batch_shape {parts.batch_shape}"
            )
        self.mixture_distribution, self.component_distribution = weights, parts
        super().__init__(parts.batch_shape[:-1], parts.event_shape)

    def _weights(self) -> Any:
        """Return the weights with the axes of the components' events."""
        probs = plain(self.mixture_distribution.probs)
        return F.reshape(probs, (*probs.shape, *(1 for _ in self.event_shape)))

    def _mean_of(self, values: Any) -> Any:
        return F.sum(F.mul(self._weights(), plain(values)), -1 - len(self.event_shape))

    mean = moment(lambda self: self._mean_of(self.component_distribution.mean))

    @moment
    def variance(self) -> Any:
        """Variance."""
        parts, at = self.component_distribution, -1 - len(self.event_shape)
        offset = F.sub(plain(parts.mean), F.unsqueeze(plain(self.mean), at))
        return F.add(self._mean_of(parts.variance), self._mean_of(F.square(offset)))

    def expand(self, batch_shape: Any) -> MixtureSameFamily:
        """Return the distribution for a larger batch."""
        parts = self.component_distribution.expand((*batch_shape, self._count))
        return MixtureSameFamily(self.mixture_distribution.expand(batch_shape), parts)

    @property
    def _count(self) -> int:
        return int(self.mixture_distribution.logits.shape[-1])

    @method
    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape, *event_shape)."""
        shape = self._shape(sample_shape)
        parts = plain(self.component_distribution.sample(sample_shape))
        chosen = plain(self.mixture_distribution.expand(self.batch_shape).sample(sample_shape))
        count = len(self.event_shape)
        axes = (*chosen.shape, *(1 for _ in range(count + 1)))
        full = (*shape[: len(shape) - count], 1, *self.event_shape)
        index = F.expand(F.reshape(chosen, axes), full)
        return F.squeeze(F.gather(parts, -1 - count, index), -1 - count)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        values = F.unsqueeze(value, -1 - len(self.event_shape))
        parts = plain(self.component_distribution.log_prob(values))
        return F.logsumexp(F.add(parts, self.mixture_distribution.logits), -1)
