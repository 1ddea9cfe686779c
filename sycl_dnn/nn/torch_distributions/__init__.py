# SPDX-License-Identifier: Apache-2.0
"""``torch.distributions``: samples, log-probabilities, entropies and divergences.

Parameters are arrays, traced values or numbers, and are not checked: that would read them. They get
gradients through ``log_prob``, ``entropy``, ``kl_divergence`` and ``rsample``.
"""

from sycl_dnn.nn.torch_distributions.continuous import (
    Exponential,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from sycl_dnn.nn.torch_distributions.discrete import Bernoulli, Categorical, OneHotCategorical
from sycl_dnn.nn.torch_distributions.distribution import Distribution
from sycl_dnn.nn.torch_distributions.divergences import kl_divergence
from sycl_dnn.nn.torch_distributions.joint import Independent, MultivariateNormal

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "Exponential", "Independent", "Laplace",
    "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Uniform", "kl_divergence",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise AttributeError(f"distributions: {name!r} is not among {', '.join(__all__)}")
