# SPDX-License-Identifier: Apache-2.0
"""``torch.linalg`` for dpnp arrays: solutions, factorizations and norms of matrices in batches.

Factorizations are those of ``dpnp.linalg`` (oneMKL), on CPUs of ``numpy.linalg`` for matrices of up
to 64 x 64 elements, each recorded as one call. Their gradients are operations of this layer, so
derivatives of every order follow.
"""

from sycl_dnn.functional import docstring_examples
from sycl_dnn.functional.linalg.factorizations import cholesky, eigh, eigvalsh, qr, svd, svdvals
from sycl_dnn.functional.linalg.least_squares import lstsq
from sycl_dnn.functional.linalg.matrix_norms import (
    cond,
    matrix_norm,
    matrix_power,
    multi_dot,
    norm,
    vector_norm,
)
from sycl_dnn.functional.linalg.solutions import det, inv, slogdet, solve, solve_triangular

__all__ = [
    "cholesky", "cond", "det", "eigh", "eigvalsh", "inv", "lstsq", "matrix_norm",
    "matrix_power", "multi_dot", "norm", "qr", "slogdet", "solve", "solve_triangular", "svd",
    "svdvals", "vector_norm",
]  # fmt: skip

docstring_examples.attach(globals(), __file__)
