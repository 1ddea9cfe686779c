# SPDX-License-Identifier: Apache-2.0
"""Kullback-Leibler divergences of distributions of one class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_distributions.continuous import (
    Exponential,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from sycl_dnn.nn.torch_distributions.discrete import Bernoulli, Categorical, OneHotCategorical
from sycl_dnn.nn.torch_distributions.distribution import Distribution, sum_of_last
from sycl_dnn.nn.torch_distributions.joint import (
    Independent,
    MultivariateNormal,
    squared_distance,
)
from sycl_dnn.trace.module_arrays import plain, with_methods


def _normal(p: Any, q: Any) -> Any:
    ratio = F.square(F.div(p.scale, q.scale))
    offset = F.square(F.div(F.sub(p.loc, q.loc), q.scale))
    return F.mul(F.sub(F.add(ratio, offset), F.add(F.log(ratio), 1)), 0.5)


def _bernoulli(p: Any, q: Any) -> Any:
    return F.sub(plain(q.cross_entropy(p.probs)), plain(p.entropy()))


def _categorical(p: Any, q: Any) -> Any:
    return F.sum(F.mul(p.probs, F.sub(p.logits, q.logits)), -1)


def _laplace(p: Any, q: Any) -> Any:
    ratio = F.div(p.scale, q.scale)
    distance = F.abs(F.sub(p.loc, q.loc))
    first = F.mul(ratio, F.exp(F.neg(F.div(distance, p.scale))))
    return F.sub(F.add(first, F.div(distance, q.scale)), F.add(F.log(ratio), 1))


def _exponential(p: Any, q: Any) -> Any:
    ratio = F.div(q.rate, p.rate)
    return F.sub(F.sub(ratio, F.log(ratio)), 1)


def _uniform(p: Any, q: Any) -> Any:
    is_outside = F.logical_or(F.gt(q.low, p.low), F.lt(q.high, p.high))
    return F.where(is_outside, math.inf, F.log(F.div(q.width, p.width)))


def _multivariate(p: Any, q: Any) -> Any:
    own, other = p.scale_tril, q.scale_tril
    solved = F.linalg.solve_triangular(other, own, upper=False)
    offset = squared_distance(other, F.sub(q.loc, p.loc))
    quadratic = F.sub(F.add(F.sum(F.square(solved), (-2, -1)), offset), p.event_shape[0])
    return F.add(F.sub(q.half_log_det, p.half_log_det), F.mul(quadratic, 0.5))


def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: the events must have the same axes")
    parts = plain(kl_divergence(p.base_dist, q.base_dist))
    return sum_of_last(parts, p.reinterpreted_batch_ndims)


_DIVERGENCES: dict[type, Callable[[Any, Any], Any]] = {
    Normal: _normal, LogNormal: _normal, Bernoulli: _bernoulli, Categorical: _categorical,
    OneHotCategorical: _categorical, Laplace: _laplace, Exponential: _exponential,
    Uniform: _uniform, MultivariateNormal: _multivariate, Independent: _independent,
}  # fmt: skip


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence of two distributions of one class.

    Raises
    ------
    NotImplementedError
        There is no closed form here for the two classes.
    """
    divergence = _DIVERGENCES.get(type(p)) if type(p) is type(q) else None
    if divergence is None:
        raise NotImplementedError(
            f"kl_divergence: there is none of {type(p).__name__} and {type(q).__name__}"
        )
    return with_methods(divergence(p, q))
