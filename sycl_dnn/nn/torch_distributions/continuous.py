# SPDX-License-Identifier: Apache-2.0
"""Distributions of real numbers: normal, log-normal, Laplace, uniform, exponential."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_distributions.distribution import (
    LOG_SQRT_2PI,
    Distribution,
    method,
    moment,
)
from sycl_dnn.trace.module_arrays import plain


class _Located(Distribution):
    """A distribution with ``loc`` and ``scale``."""

    has_rsample = True
    loc: Any
    scale: Any
    mean = mode = moment(lambda self: self.loc)

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self._keep(loc=loc, scale=scale)

    def _standardized(self, value: Any) -> Any:
        return F.div(F.sub(value, self.loc), self.scale)

    def _placed(self, noise: Any) -> Any:
        return F.add(F.mul(noise, self.scale), self.loc)


def _quantile(p: Any) -> Any:
    """Return the standard normal quantile."""
    return F.mul(F.erfinv(F.sub(F.mul(p, 2), 1)), 2**0.5)


class Normal(_Located):
    """The normal distribution; ``scale`` is its standard deviation."""

    variance = moment(lambda self: F.square(self.scale))
    entropy = method(lambda self: F.add(F.log(self.scale), 0.5 + LOG_SQRT_2PI))
    icdf = method(lambda self, value: self._placed(_quantile(value)))

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        return self._placed(F.randn_like(F.expand(self.loc, self._shape(sample_shape))))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        squares = F.mul(F.square(self._standardized(value)), -0.5)
        return F.sub(squares, F.add(F.log(self.scale), LOG_SQRT_2PI))

    @method
    def cdf(self, value: Any) -> Any:
        """Return the probability of smaller values."""
        z = F.mul(self._standardized(value), 0.5**0.5)
        return F.mul(F.add(F.erf(z), 1), 0.5)


class LogNormal(_Located):
    """The distribution of ``exp`` of normal values."""

    _base = property(lambda self: Normal(self.loc, self.scale))
    mean = moment(lambda self: F.exp(F.add(self.loc, F.mul(F.square(self.scale), 0.5))))
    mode = moment(lambda self: F.exp(F.sub(self.loc, F.square(self.scale))))
    entropy = method(lambda self: F.add(plain(self._base.entropy()), self.loc))

    @moment
    def variance(self) -> Any:
        """Variance."""
        squares = F.square(self.scale)
        return F.mul(F.expm1(squares), F.exp(F.add(F.mul(self.loc, 2), squares)))

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        return F.exp(plain(self._base.rsample(sample_shape)))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        logarithm = F.log(value)
        return F.sub(plain(self._base.log_prob(logarithm)), logarithm)


class Laplace(_Located):
    """The double exponential distribution."""

    variance = moment(lambda self: F.mul(F.square(self.scale), 2))
    entropy = method(lambda self: F.add(self._log_width(), 1))

    def _log_width(self) -> Any:
        return F.log(F.mul(self.scale, 2))

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to ``loc`` and ``scale``."""
        uniform = F.rand_like(F.expand(self.loc, self._shape(sample_shape)))
        centered = F.sub(F.mul(uniform, 2), 1)
        # -1 is drawn, where the logarithm would be minus infinity.
        distances = F.log1p(F.neg(F.clamp_max(F.abs(centered), 1 - 2.0**-24)))
        return self._placed(F.neg(F.mul(F.sign(centered), distances)))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        return F.neg(F.add(self._log_width(), F.abs(self._standardized(value))))


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    has_rsample = True
    low: Any
    high: Any
    width = property(lambda self: F.sub(self.high, self.low))
    mean = moment(lambda self: F.mul(F.add(self.high, self.low), 0.5))
    variance = moment(lambda self: F.div(F.square(self.width), 12))
    entropy = method(lambda self: F.log(self.width))

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self._keep(low=low, high=high)

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the bounds."""
        uniform = F.rand_like(F.expand(self.low, self._shape(sample_shape)))
        return F.add(F.mul(uniform, self.width), self.low)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density, minus infinity outside."""
        is_inside = F.logical_and(F.ge(value, self.low), F.lt(value, self.high))
        return F.where(is_inside, F.neg(F.log(self.width)), -math.inf)


class Exponential(Distribution):
    """The exponential distribution of a rate."""

    has_rsample = True
    rate: Any
    mean = stddev = moment(lambda self: F.reciprocal(self.rate))
    mode = moment(lambda self: F.zeros_like(self.rate))
    variance = moment(lambda self: F.square(F.reciprocal(self.rate)))
    entropy = method(lambda self: F.sub(1, F.log(self.rate)))
    log_prob = method(lambda self, value: F.sub(F.log(self.rate), F.mul(self.rate, value)))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._keep(rate=rate)

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the rate."""
        uniform = F.rand_like(F.expand(self.rate, self._shape(sample_shape)))
        return F.div(F.neg(F.log1p(F.neg(uniform))), self.rate)
