# SPDX-License-Identifier: Apache-2.0
"""Batch normalization with given statistics: values, gradients, dtypes of vectors."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, host, placed

from sycl_dnn import functional as F

EPS = 1e-5
#: Shape, layout, dtype, dtype of the vectors.
ARRANGEMENTS = [
    ((3, 5, 7, 9), "row_major", "float32", "float32"),
    ((3, 5, 7, 9), "row_major", "bfloat16", "bfloat16"),
    ((2, 24, 5, 9), "channels_last", "float32", "float32"),
    ((2, 16, 5, 9), "channels_last", "bfloat16", "bfloat16"),
    ((2, 16, 5, 9), "channels_last", "float16", "float32"),
    ((40, 16), "row_major", "float32", "float32"),
]


def _arrays(queue, shape, layout, dtype, of_vectors):
    rng = np.random.default_rng(0)
    x, dy = (placed(rng.standard_normal(shape), queue, layout, dtype) for _ in range(2))
    vectors = [rng.standard_normal(shape[1]) for _ in range(4)]
    vectors[1] = np.abs(vectors[1]) + 0.5
    return x, dy, [placed(v, queue, dtype=of_vectors) for v in vectors]


def expected(x, dy, mean, variance, weight, bias):
    """Return the value and the gradients of ``x``, ``weight`` and ``bias`` in float64."""
    shape, axes = (1, -1, *(1 for _ in x.shape[2:])), (0, *range(2, x.ndim))
    mean, variance, weight, bias = (v.reshape(shape) for v in (mean, variance, weight, bias))
    unit = (x - mean) / np.sqrt(variance + EPS)
    return [
        unit * weight + bias,
        dy * weight / np.sqrt(variance + EPS),
        (dy * unit).sum(axes),
        dy.sum(axes),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", ARRANGEMENTS)
def test_values_and_gradients(queue, case):
    x, dy, (mean, variance, weight, bias) = _arrays(queue, *case)

    def function(x, weight, bias):
        return F.batch_norm(x, mean, variance, weight, bias)

    actual = both_passes(function, [x, weight, bias], dy)
    known = [host(a) for a in (x, dy, mean, variance, weight, bias)]
    for mine, other in zip(actual, expected(*known), strict=True):
        assert error(mine, other) < 2 * TOLERANCE[case[2]]


def test_nonfinite_values_do_not_spread(queue):
    x, _, (mean, variance, weight, bias) = _arrays(
        queue, (1, 8, 4, 4), "channels_last", "float32", "float32"
    )
    values = host(x)
    values[0, 0, 0, 0], values[0, 1, 0, 0] = np.nan, np.inf
    provided = placed(values, queue, "channels_last")
    result = host(F.batch_norm(provided, mean, variance, weight, bias))
    wrong = ~np.isfinite(result)
    assert wrong.sum() == 2
    assert np.isnan(result[0, 0, 0, 0])
    assert np.isinf(result[0, 1, 0, 0])
