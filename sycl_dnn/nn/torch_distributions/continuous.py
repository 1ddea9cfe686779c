# SPDX-License-Identifier: Apache-2.0
"""Distributions of real numbers: normal, log-normal, Laplace, uniform, exponential."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_distributions.distribution import LOG_SQRT_2PI, Distribution, arrays_of
from sycl_dnn.trace.module_arrays import plain, with_methods


class _Located(Distribution):
    """A distribution with ``loc`` and ``scale``."""

    has_rsample = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = map(with_methods, arrays_of(loc, scale))
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Any:
        """Mean."""
        return self.loc

    mode = mean

    def _standardized(self, value: Any) -> Any:
        return F.div(F.sub(plain(value), self.loc), self.scale)

    def _placed(self, noise: Any) -> Any:
        return with_methods(F.add(F.mul(noise, self.scale), self.loc))


class Normal(_Located):
    """The normal distribution; ``scale`` is its standard deviation."""

    @property
    def variance(self) -> Any:
        """Variance."""
        return with_methods(F.square(self.scale))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        return self._placed(F.randn_like(F.expand(self.loc, self._shape(sample_shape))))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        squares = F.mul(F.square(self._standardized(value)), -0.5)
        return with_methods(F.sub(squares, F.add(F.log(self.scale), LOG_SQRT_2PI)))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return with_methods(F.add(F.log(self.scale), 0.5 + LOG_SQRT_2PI))

    def cdf(self, value: Any) -> Any:
        """Return the probability of smaller values."""
        z = F.mul(self._standardized(value), 0.5**0.5)
        return with_methods(F.mul(F.add(F.erf(z), 1), 0.5))

    def icdf(self, value: Any) -> Any:
        """Return the value with this probability of smaller ones."""
        return self._placed(F.mul(F.erfinv(F.sub(F.mul(plain(value), 2), 1)), 2**0.5))


class LogNormal(_Located):
    """The distribution of ``exp`` of normal values."""

    @property
    def _base(self) -> Normal:
        return Normal(self.loc, self.scale)

    @property
    def mean(self) -> Any:
        """Mean."""
        return with_methods(F.exp(F.add(self.loc, F.mul(F.square(self.scale), 0.5))))

    @property
    def mode(self) -> Any:
        """Most likely value."""
        return with_methods(F.exp(F.sub(self.loc, F.square(self.scale))))

    @property
    def variance(self) -> Any:
        """Variance."""
        squares = F.square(self.scale)
        spread = F.exp(F.add(F.mul(self.loc, 2), squares))
        return with_methods(F.mul(F.expm1(squares), spread))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        return with_methods(F.exp(plain(self._base.rsample(sample_shape))))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        logarithm = F.log(plain(value))
        return with_methods(F.sub(plain(self._base.log_prob(logarithm)), logarithm))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return with_methods(F.add(plain(self._base.entropy()), self.loc))


class Laplace(_Located):
    """The double exponential distribution."""

    @property
    def variance(self) -> Any:
        """Variance."""
        return with_methods(F.mul(F.square(self.scale), 2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        uniform = F.rand_like(F.expand(self.loc, self._shape(sample_shape)))
        centered = F.sub(F.mul(uniform, 2), 1)
        # -1 is drawn, where the logarithm would be minus infinity.
        distances = F.log1p(F.neg(F.clamp_max(F.abs(centered), 1 - 2.0**-24)))
        return self._placed(F.neg(F.mul(F.sign(centered), distances)))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        scales = F.log(F.mul(self.scale, 2))
        return with_methods(F.neg(F.add(scales, F.abs(self._standardized(value)))))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return with_methods(F.add(F.log(F.mul(self.scale, 2)), 1))


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high = map(with_methods, arrays_of(low, high))
        super().__init__(self.low.shape)

    @property
    def width(self) -> Any:
        """Distance of the bounds."""
        return F.sub(self.high, self.low)

    @property
    def mean(self) -> Any:
        """Mean."""
        return with_methods(F.mul(F.add(self.high, self.low), 0.5))

    @property
    def variance(self) -> Any:
        """Variance."""
        return with_methods(F.div(F.square(self.width), 12))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the bounds."""
        uniform = F.rand_like(F.expand(self.low, self._shape(sample_shape)))
        return with_methods(F.add(F.mul(uniform, self.width), self.low))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density, minus infinity outside."""
        value = plain(value)
        is_inside = F.logical_and(F.ge(value, self.low), F.lt(value, self.high))
        return with_methods(F.where(is_inside, F.neg(F.log(self.width)), -math.inf))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return with_methods(F.log(self.width))


class Exponential(Distribution):
    """The exponential distribution of a rate."""

    has_rsample = True
    _parameters = ("rate",)

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self.rate = with_methods(arrays_of(rate)[0])
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Any:
        """Mean."""
        return with_methods(F.reciprocal(self.rate))

    stddev = mean

    @property
    def mode(self) -> Any:
        """Most likely value, 0."""
        return with_methods(F.zeros_like(self.rate))

    @property
    def variance(self) -> Any:
        """Variance."""
        return with_methods(F.square(F.reciprocal(self.rate)))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the rate."""
        uniform = F.rand_like(F.expand(self.rate, self._shape(sample_shape)))
        return with_methods(F.div(F.neg(F.log1p(F.neg(uniform))), self.rate))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        rate = self.rate
        return with_methods(F.sub(F.log(rate), F.mul(rate, plain(value))))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return with_methods(F.sub(1, F.log(self.rate)))
