# SPDX-License-Identifier: Apache-2.0
"""``torch.distributions``: samples, log-probabilities, entropies and divergences.

Parameters are arrays, traced values or numbers, and are not checked: that would read them. They get
gradients through ``log_prob``, ``entropy``, ``kl_divergence`` and ``rsample``.
"""

import sys

from sycl_dnn.nn.torch_distributions import event_transforms as transforms
from sycl_dnn.nn.torch_distributions.combined import MixtureSameFamily, TransformedDistribution
from sycl_dnn.nn.torch_distributions.continuous import (
    Exponential,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from sycl_dnn.nn.torch_distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
)
from sycl_dnn.nn.torch_distributions.distribution import Distribution
from sycl_dnn.nn.torch_distributions.divergences import kl_divergence
from sycl_dnn.nn.torch_distributions.event_transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
)
from sycl_dnn.nn.torch_distributions.gamma_family import Beta, Gamma, Poisson
from sycl_dnn.nn.torch_distributions.joint import Independent, MultivariateNormal

__all__ = [
    "AffineTransform", "Bernoulli", "Beta", "Categorical", "ComposeTransform", "Distribution",
    "ExpTransform", "Exponential", "Gamma", "Geometric", "Independent", "Laplace", "LogNormal",
    "MixtureSameFamily", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson",
    "PowerTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "kl_divergence", "transforms",
]  # fmt: skip


#: Files of ``torch.distributions``, which all have the names of the package here.
_FILES = frozenset((
    "bernoulli", "beta", "categorical", "distribution", "exponential", "gamma", "geometric",
    "independent", "kl", "laplace", "log_normal", "mixture_same_family", "multivariate_normal",
    "normal", "one_hot_categorical", "poisson", "transformed_distribution", "uniform",
))  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _FILES:
        return sys.modules[__name__]
    raise AttributeError(f"distributions: {name!r} is not among {', '.join(__all__)}")
