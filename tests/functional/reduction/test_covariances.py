# SPDX-License-Identifier: Apache-2.0
"""Covariances, correlations, traces and differences."""

import dpnp
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.named import of_words

from sycl_dnn import functional as F

X, ROW = Spec((3, 5)), Spec((5,))


CASES = [
    of_words("trace", X), of_words("trace-bf16", X, dtype="bfloat16"),
    of_words("cov", X), of_words("cov-one", ROW),
    of_words("corrcoef", X), of_words("corrcoef-one", ROW),
    of_words("diff", X), of_words("diff-twice", X, 2, 1), of_words("diff-joined", X, 1, 0, X, X),
]  # fmt: skip
TestCases = checked(CASES, may_be_slow=True)


def test_covariances_with_weights(queue):
    x = dpnp.asarray([[1.0, 2.0, 4.0], [3.0, 0.0, 1.0]], dtype="f4", sycl_queue=queue)
    counts = dpnp.asarray([1, 2, 0], sycl_queue=queue)
    repeated = F.cov(x[:, dpnp.asarray([0, 1, 1], sycl_queue=queue)])
    assert F.cov(x, fweights=counts).asnumpy() == pytest.approx(repeated.asnumpy(), abs=1e-6)
    shares = dpnp.asarray([0.5, 1.0, 2.0], dtype="f4", sycl_queue=queue)
    found = F.cov(x, fweights=counts, aweights=shares, correction=0).asnumpy()
    assert found.ravel().tolist() == pytest.approx([0.16, -0.48, -0.48, 1.44], abs=1e-6)


def test_one_row_is_one_variable(queue):
    row = dpnp.asarray([[1.0, 2.0, 6.0]], dtype="f4", sycl_queue=queue)
    for function in (F.cov, F.corrcoef):
        assert function(row).shape == ()
        assert float(function(row)) == pytest.approx(float(function(row[0])))
    assert F.cov(row, fweights=dpnp.asarray([1, 2, 0], sycl_queue=queue)).shape == ()


def test_differences_of_bools_and_integers(queue):
    x = dpnp.asarray([3, 1, 1], sycl_queue=queue)
    assert F.diff(x).asnumpy().tolist() == [-2, 0]
    assert F.diff(x > 2).asnumpy().tolist() == [True, False]
    assert F.diff(x, 5).shape == (0,)
