# SPDX-License-Identifier: Apache-2.0
"""Distributions of vectors and of whole arrays."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_distributions.distribution import (
    LOG_SQRT_2PI,
    Distribution,
    method,
    moment,
    sum_of_last,
)
from sycl_dnn.trace.module_arrays import plain, with_methods


class Independent(Distribution, base_distribution="Distribution", reinterpreted_batch_ndims="int"):
    """A distribution whose last axes of a batch are axes of one event."""

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: Any = None
    ) -> None:
        base, count = base_distribution, reinterpreted_batch_ndims
        if not 0 <= count <= len(base.batch_shape):
            raise ValueError(
                f"Independent: reinterpreted_batch_ndims must be 0 to {len(base.batch_shape)}, "
                f"got {count}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base, count
        at = len(base.batch_shape) - count
        super().__init__(base.batch_shape[:at], (*base.batch_shape[at:], *base.event_shape))

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether samples have gradients."""
        return bool(self.base_dist.has_rsample)

    mean = moment(lambda self: self.base_dist.mean)
    mode = moment(lambda self: self.base_dist.mode)
    variance = moment(lambda self: self.base_dist.variance)
    sample = method(lambda self, sample_shape=(): self.base_dist.sample(sample_shape))
    rsample = method(lambda self, sample_shape=(): self.base_dist.rsample(sample_shape))

    def expand(self, batch_shape: Any) -> Independent:
        """Return the distribution for a larger batch."""
        count = self.reinterpreted_batch_ndims
        axes = self.event_shape[:count]
        return Independent(self.base_dist.expand((*batch_shape, *axes)), count)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density of whole events."""
        return sum_of_last(plain(self.base_dist.log_prob(value)), self.reinterpreted_batch_ndims)

    @method
    def entropy(self) -> Any:
        """Return the entropy of whole events."""
        return sum_of_last(plain(self.base_dist.entropy()), self.reinterpreted_batch_ndims)


_MATRIX = "array (*, n, n), optional\n    One of three."


class MultivariateNormal(
    Distribution, loc="array (*, n)", covariance_matrix=_MATRIX, precision_matrix=_MATRIX,
    scale_tril=_MATRIX,
):  # fmt: skip
    """Normal vectors, given a covariance, its inverse or its Cholesky factor."""

    has_rsample = True
    mean = mode = moment(lambda self: self.loc)
    #: Of the elements.
    variance = moment(lambda self: F.sum(F.square(self.scale_tril), -1))
    covariance_matrix = moment(
        lambda self: F.matmul(self.scale_tril, F.transpose(self.scale_tril, -1, -2))
    )

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: Any = None,
    ) -> None:  # fmt: skip
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal: exactly one of covariance_matrix, precision_matrix and "
                f"scale_tril must be given, got {len(given)}"
            )
        loc, matrix = plain(loc), plain(given[0])
        if scale_tril is None:
            matrix = F.linalg.cholesky(matrix if precision_matrix is None else F.linalg.inv(matrix))
        # Both with the axes of the larger batch.
        batch = F.add(loc, matrix[..., 0]).shape
        self.loc = with_methods(F.expand(loc, batch))
        self.scale_tril = with_methods(F.expand(matrix, (*batch, batch[-1])))
        super().__init__(batch[:-1], batch[-1:])

    @property
    def half_log_det(self) -> Any:
        """Half the logarithm of the covariance's determinant."""
        return F.sum(F.log(F.diagonal(self.scale_tril, 0, -2, -1)), -1)

    def expand(self, batch_shape: Any) -> MultivariateNormal:
        """Return the distribution for a larger batch."""
        (n,) = self.event_shape
        tril = F.expand(self.scale_tril, (*batch_shape, n, n))
        return MultivariateNormal(F.expand(self.loc, (*batch_shape, n)), scale_tril=tril)

    @method
    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape, n) with gradients."""
        noise = F.randn_like(F.expand(self.loc, self._shape(sample_shape)))
        moved = F.squeeze(F.matmul(self.scale_tril, F.unsqueeze(noise, -1)), -1)
        return F.add(moved, self.loc)

    @method
    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density."""
        squares = squared_distance(self.scale_tril, F.sub(value, self.loc))
        constant = F.add(self.half_log_det, self.event_shape[0] * LOG_SQRT_2PI)
        return F.sub(F.mul(squares, -0.5), constant)

    @method
    def entropy(self) -> Any:
        """Return the differential entropy."""
        constant = self.event_shape[0] * (0.5 + LOG_SQRT_2PI)
        return F.add(self.half_log_det, constant)


def squared_distance(tril: Any, offset: Any) -> Any:
    """Return the squared Mahalanobis distance."""
    matrices = F.expand(tril, (*offset.shape, offset.shape[-1]))
    solved = F.linalg.solve_triangular(matrices, F.unsqueeze(offset, -1), upper=False)
    return F.sum(F.square(solved), (-2, -1))
