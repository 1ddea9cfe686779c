# SPDX-License-Identifier: Apache-2.0
"""``torch.distributions``: samples, log-probabilities, entropies and divergences.

Parameters are arrays, traced values or numbers, and are not checked: that would read them. They get
gradients through ``log_prob``, ``entropy``, ``kl_divergence`` and ``rsample``.
"""

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


def __getattr__(name: str) -> object:
    raise AttributeError(f"distributions: {name!r} is not among {', '.join(__all__)}")
