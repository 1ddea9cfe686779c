# SPDX-License-Identifier: Apache-2.0
"""Bernoulli and categorical distributions."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import stop_gradient
from sycl_dnn.nn.torch_distributions.distribution import (
    Distribution,
    arrays_of,
    check_one_of,
    clamped,
    method,
    moment,
    sizes_of,
    tiny_of,
)
from sycl_dnn.trace.module_arrays import plain, with_methods

_EITHER = dict.fromkeys(("probs", "logits"), "array (*) or number, optional\n    One of both.")
_EITHER_ROW = dict.fromkeys(_EITHER, "array (*, n), optional\n    One of both.")


class Bernoulli(Distribution, **_EITHER):
    """0 or 1, given the probability of 1 or its logit."""

    probs: Any
    logits: Any
    mean = moment(lambda self: self.probs)
    variance = moment(lambda self: F.mul(self.probs, F.sub(1, self.probs)))
    log_prob = method(lambda self, value: F.neg(self.cross_entropy(value)))
    entropy = method(lambda self: self.cross_entropy(self.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        check_one_of("Bernoulli", probs, logits)
        if probs is not None:
            (probs,) = arrays_of(probs)
            inner = clamped(probs)
            logits = F.sub(F.log(inner), F.log1p(F.neg(inner)))
        else:
            (logits,) = arrays_of(logits)
            probs = F.sigmoid(logits)
        self._keep(probs=probs, logits=logits)

    @moment
    def mode(self) -> Any:
        """More likely value; NaN where both are equally likely."""
        probs = self.probs
        likelier = F.astype(F.ge(probs, 0.5), str(probs.dtype))
        return F.where(F.eq(probs, 0.5), math.nan, likelier)

    @method
    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape)."""
        return F.bernoulli(F.expand(stop_gradient(plain(self.probs)), self._shape(sample_shape)))

    def cross_entropy(self, value: Any) -> Any:
        """Return the cross-entropy of 0, 1 or probabilities of 1."""
        logits, value = arrays_of(self.logits, value)
        return F.binary_cross_entropy_with_logits(logits, value, reduction="none")


class Geometric(Distribution, **_EITHER):
    """The number of failures before the first success, given its probability or its logit."""

    probs: Any
    logits: Any
    mean = moment(lambda self: F.sub(F.reciprocal(self.probs), 1))
    mode = moment(lambda self: F.zeros_like(self.probs))
    variance = moment(lambda self: F.mul(plain(self.mean), F.reciprocal(self.probs)))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        check_one_of("Geometric", probs, logits)
        of_trials = Bernoulli(probs, logits)
        self._keep(probs=of_trials.probs, logits=of_trials.logits)

    @method
    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape)."""
        probs = F.expand(stop_gradient(plain(self.probs)), self._shape(sample_shape))
        uniform = F.clamp_min(F.rand_like(probs), tiny_of(probs))
        return F.floor(F.div(F.log(uniform), F.log1p(F.neg(probs))))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability."""
        probs, x = arrays_of(self.probs, value)
        failures = F.where(F.logical_and(F.eq(probs, 1), F.eq(x, 0)), 0.0, F.neg(probs))
        return F.add(F.mul(x, F.log1p(failures)), F.log(probs))

    @method
    def entropy(self) -> Any:
        """Return the entropy in nats."""
        return F.div(Bernoulli(logits=self.logits).cross_entropy(self.probs), self.probs)


class Categorical(Distribution, **_EITHER_ROW):
    """Numbers of categories, given probabilities or unnormalized logits along the last axis."""

    #: Numbers of categories have none.
    mean = variance = moment(lambda self: F.full_like(self.probs[..., 0], math.nan))
    mode = moment(lambda self: F.argmax(self.probs, -1))
    sample = method(lambda self, sample_shape=(): self._drawn(sample_shape))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        check_one_of(type(self).__name__, probs, logits)
        (values,) = arrays_of(logits if probs is None else probs)
        if not values.ndim:
            raise ValueError(f"{type(self).__name__}: parameters must have at least one axis")
        if probs is None:
            logits = F.sub(values, F.logsumexp(values, -1, True))
            probs = F.softmax(values, -1)
        else:
            probs = F.div(values, F.sum(values, -1, True))
            logits = F.log(clamped(probs))
        self.probs, self.logits = with_methods(probs), with_methods(logits)
        super().__init__(values.shape[:-1])

    def expand(self, batch_shape: Any) -> Any:
        """Return the distribution for a larger batch."""
        return type(self)(logits=F.expand(self.logits, (*batch_shape, self._num_events)))

    @property
    def _num_events(self) -> int:
        return int(self.logits.shape[-1])

    def _drawn(self, sample_shape: Any) -> Any:
        """Return samples (*sample_shape, *batch_shape), int64."""
        sizes = sizes_of(sample_shape)
        rows = F.reshape(stop_gradient(plain(self.probs)), (-1, self._num_events))
        drawn = F.multinomial(rows, max(math.prod(sizes), 1), True)
        return F.reshape(F.transpose(drawn, 0, 1), (*sizes, *self.batch_shape))

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithms of the probabilities of categories."""
        logits, index = self.logits, F.unsqueeze(F.astype(value, "int64"), -1)
        shape = F.add(F.astype(index, str(logits.dtype)), logits).shape
        index = F.expand(index, (*shape[:-1], 1))
        return F.squeeze(F.gather(F.expand(logits, shape), -1, index), -1)

    @method
    def entropy(self) -> Any:
        """Return the entropy in nats."""
        least = -1e4 if str(self.logits.dtype) == "float16" else -3e38
        products = F.mul(F.clamp_min(self.logits, least), self.probs)
        return F.neg(F.sum(products, -1))


class OneHotCategorical(Categorical, **_EITHER_ROW):
    """Categories as vectors of zeros and a one."""

    mean = moment(lambda self: self.probs)
    mode = moment(lambda self: self._one_hot(F.argmax(self.probs, -1)))
    variance = moment(lambda self: F.mul(self.probs, F.sub(1, self.probs)))
    sample = method(lambda self, sample_shape=(): self._one_hot(self._drawn(sample_shape)))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits)
        self.event_shape = (self._num_events,)

    def _one_hot(self, numbers: Any) -> Any:
        return F.astype(F.one_hot(numbers, self._num_events), str(self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithms of the probabilities of categories."""
        return super().log_prob(F.argmax(plain(value), -1))
