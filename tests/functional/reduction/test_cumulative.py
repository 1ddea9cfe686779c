# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums and products, and distances of vectors."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((3, 5))


CASES = [
    Case("cumsum", F.cumsum, (X, 1), torch=of_torch("cumsum")),
    Case("cumsum-rows", F.cumsum, (Spec((3, 6), layout="strided"), 0),
         torch=of_torch("cumsum")),
    Case("cumsum-bf16", F.cumsum, (X, -1), dtype="bfloat16", torch=of_torch("cumsum")),
    Case("cumprod", F.cumprod, (X, 1), torch=of_torch("cumprod")),
    Case("cumprod-columns", F.cumprod, (Spec((7, 2)), 0), torch=of_torch("cumprod")),
    Case("cosine-similarity", F.cosine_similarity, (X, X), torch="cosine_similarity"),
    Case("cosine-broadcast", F.cosine_similarity, (Spec((3, 1, 5)), Spec((4, 5)), 2),
         torch="cosine_similarity"),
    Case("cosine-bf16", F.cosine_similarity, (X, X, 0), dtype="bfloat16",
         torch="cosine_similarity"),
    Case("pairwise-distance", F.pairwise_distance, (X, X), torch="pairwise_distance"),
    Case("cdist", F.cdist, (Spec((2, 3, 5)), Spec((4, 5))), torch=of_torch("cdist")),
    Case("cdist-p", F.cdist, (Spec((3, 5)), Spec((4, 5)), 1.0), torch=of_torch("cdist")),
    Case("pairwise-distance-p", F.pairwise_distance, (X, Spec((5,)), 3.0),
         {"keepdim": True}, torch="pairwise_distance", slack=5.0),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_products_with_infinities(queue):
    """Gradients are divided by each element, as torch's."""
    rows = np.array([[1, np.nan, 2], [1, np.inf, 2], [0, -np.inf, 1], [-np.inf] * 3], "f4")
    x = dpnp.asarray(rows, sycl_queue=queue)
    result, pullback = sycl_dnn.vjp(lambda x: F.cumprod(x, 1), x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(dpnp.asnumpy(result), np.cumprod(rows, 1))
    slopes = dpnp.asnumpy(pullback(F.ones_like(result))[0])
    np.testing.assert_array_equal(slopes[:2], [[np.nan] * 3, [np.inf, np.nan, np.inf]])


@pytest.mark.slow
def test_derivatives_of_products_with_zeros_match_torch(queue):
    """First and second, where a division by the element would give NaN."""
    a = np.array([2.0, 0.0, 3.0, 0.0, -1.0])
    x = dpnp.asarray(a, dtype="f4", sycl_queue=queue)
    slope = sycl_dnn.grad(lambda v: F.sum(F.square(F.cumprod(v, 0))))
    curve = sycl_dnn.compile(sycl_dnn.grad(lambda v: F.sum(slope(v))))
    h, eye = 1e-4, np.eye(5)

    def value(v):
        return (np.cumprod(v) ** 2).sum()

    first = [(value(a + h * e) - value(a - h * e)) / (2 * h) for e in eye]
    np.testing.assert_allclose(dpnp.asnumpy(slope(x)), first, rtol=1e-4, atol=1e-4)
    second = [
        sum(
            value(a + h * e + h * f) - value(a + h * e - h * f)
            - value(a - h * e + h * f) + value(a - h * e - h * f)
            for f in eye
        ) / (4 * h * h)
        for e in eye
    ]  # fmt: skip
    np.testing.assert_allclose(dpnp.asnumpy(curve(x)), second, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_integers_become_int64_and_nan_propagates(name, queue):
    function, reference = getattr(F, name), getattr(np, name)
    x = np.array([[True, True, True], [True, False, True]])
    actual = function(dpnp.asarray(x, sycl_queue=queue), 1)
    assert actual.dtype == np.int64
    np.testing.assert_array_equal(dpnp.asnumpy(actual), reference(x.astype("i8"), 1))
    actual = function(dpnp.asarray(x, sycl_queue=queue), 1, dtype="float32")
    assert actual.dtype == np.float32
    x = np.array([1, np.inf, -np.inf, np.nan, 2], "f4")
    with np.errstate(invalid="ignore"):
        expected = reference(x)
    np.testing.assert_array_equal(
        function(dpnp.asarray(x, sycl_queue=queue), 0).asnumpy(), expected
    )
    assert function(dpnp.zeros((0, 3), sycl_queue=queue), 0).shape == (0, 3)
    with pytest.raises(ValueError, match=f"{name}: dim must be in"):
        function(dpnp.ones((2, 3), dtype="f4", sycl_queue=queue), 2)


def test_norms_of_zero_vectors(queue):
    zero = dpnp.zeros((2, 3), dtype="f4", sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(F.cosine_similarity, zero, zero)
    np.testing.assert_array_equal(dpnp.asnumpy(y), [0, 0])
    assert all(np.isfinite(dpnp.asnumpy(g)).all() for g in pullback(dpnp.ones_like(y)))
