# SPDX-License-Identifier: Apache-2.0
"""Distributions whose samples NumPy draws on the host: gamma, beta, Poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.activation.dropout import next_seed
from sycl_dnn.nn.torch_distributions.distribution import (
    Distribution,
    arrays_of,
    eps_of,
    method,
    moment,
    tiny_of,
)
from sycl_dnn.trace.module_arrays import plain


class _DrawnOnHost(Distribution):
    """Samples wait for the parameters and have no gradient; compiled functions cannot draw."""

    _is_positive = True

    def _draw(self, numbers: np.random.Generator, shape: Any, *parameters: Any) -> Any:
        raise NotImplementedError

    @method
    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape)."""
        arrays = [plain(getattr(self, name)) for name in self._parameters]
        shape, queue = self._shape(sample_shape), getattr(arrays[0], "sycl_queue", None)
        values = [a.asnumpy() if hasattr(a, "asnumpy") else sycl_dnn.asnumpy(a) for a in arrays]
        drawn = self._draw(np.random.default_rng(next_seed()), shape, *values)
        if self._is_positive:  # torch's bounds, so that the density is finite
            drawn = np.maximum(drawn, tiny_of(arrays[0]))
        return F.tensor(drawn, dtype=str(arrays[0].dtype), device=queue)


class Gamma(_DrawnOnHost):
    """The gamma distribution of a shape, ``concentration``, and a rate."""

    concentration: Any
    rate: Any
    mean = moment(lambda self: F.div(self.concentration, self.rate))
    mode = moment(lambda self: F.div(F.clamp_min(F.sub(self.concentration, 1), 0), self.rate))
    variance = moment(lambda self: F.div(self.concentration, F.square(self.rate)))

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self._keep(concentration=concentration, rate=rate)

    def _draw(self, numbers: np.random.Generator, shape: Any, *parameters: Any) -> Any:
        concentration, rate = parameters
        return numbers.gamma(concentration, 1 / rate, shape)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        a, rate = self.concentration, self.rate
        powers = F.add(F.mul(a, F.log(rate)), F.xlogy(F.sub(a, 1), value))
        return F.sub(F.sub(powers, F.mul(rate, value)), F.lgamma(a))

    @method
    def entropy(self) -> Any:
        """Return the differential entropy."""
        a = self.concentration
        rest = F.add(F.lgamma(a), F.mul(F.sub(1, a), F.digamma(a)))
        return F.add(F.sub(a, F.log(self.rate)), rest)


class Beta(_DrawnOnHost):
    """The beta distribution over (0, 1)."""

    concentration1: Any
    concentration0: Any
    _total = property(lambda self: F.add(self.concentration1, self.concentration0))
    mean = moment(lambda self: F.div(self.concentration1, self._total))

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        self._keep(concentration1=concentration1, concentration0=concentration0)

    def _draw(self, numbers: np.random.Generator, shape: Any, *parameters: Any) -> Any:
        a, b = parameters
        most = 1 - eps_of(self.concentration1) / 2
        return np.minimum(numbers.beta(a, b, shape), most)

    @moment
    def variance(self) -> Any:
        """Variance."""
        total = self._total
        products = F.mul(self.concentration1, self.concentration0)
        return F.div(products, F.mul(F.square(total), F.add(total, 1)))

    @property
    def _log_beta(self) -> Any:
        parts = F.add(F.lgamma(self.concentration1), F.lgamma(self.concentration0))
        return F.sub(parts, F.lgamma(self._total))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        first = F.xlogy(F.sub(self.concentration1, 1), value)
        second = F.xlogy(F.sub(self.concentration0, 1), F.sub(1, value))
        return F.sub(F.add(first, second), self._log_beta)

    @method
    def entropy(self) -> Any:
        """Return the differential entropy."""
        a, b, total = self.concentration1, self.concentration0, self._total
        terms = F.add(F.mul(F.sub(a, 1), F.digamma(a)), F.mul(F.sub(b, 1), F.digamma(b)))
        rest = F.mul(F.sub(total, 2), F.digamma(total))
        return F.add(F.sub(self._log_beta, terms), rest)


class Poisson(_DrawnOnHost):
    """Counts of events of a rate."""

    rate: Any
    _is_positive = False
    mean = variance = moment(lambda self: self.rate)
    mode = moment(lambda self: F.floor(self.rate))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._keep(rate=rate)

    def _draw(self, numbers: np.random.Generator, shape: Any, *parameters: Any) -> Any:
        return numbers.poisson(parameters[0], shape)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability."""
        rate, x = arrays_of(self.rate, value)
        return F.sub(F.sub(F.xlogy(x, rate), rate), F.lgamma(F.add(x, 1)))
