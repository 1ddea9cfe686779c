# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums and products, and distances of vectors."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((3, 5))


CASES = [
    of_words("cumsum", X, 1),
    of_words("cumsum-rows", Spec((3, 6), layout="strided"), 0),
    of_words("cumsum-bf16", X, -1, dtype="bfloat16"),
    of_words("cumprod", X, 1),
    of_words("cumprod-columns", Spec((7, 2)), 0),
    Case("cosine-similarity", F.cosine_similarity, (X, X), torch="cosine_similarity"),
    Case("cosine-broadcast", F.cosine_similarity, (Spec((3, 1, 5)), Spec((4, 5)), 2),
         torch="cosine_similarity"),
    Case("cosine-bf16", F.cosine_similarity, (X, X, 0), dtype="bfloat16",
         torch="cosine_similarity"),
    Case("pairwise-distance", F.pairwise_distance, (X, X), torch="pairwise_distance"),
    of_words("cdist", Spec((2, 3, 5)), Spec((4, 5))),
    of_words("cdist-p", Spec((3, 5)), Spec((4, 5)), 1.0),
    Case("pairwise-distance-p", F.pairwise_distance, (X, Spec((5,)), 3.0),
         {"keepdim": True}, torch="pairwise_distance", slack=5.0),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_norms_of_zero_vectors(queue):
    zero = dpnp.zeros((2, 3), dtype="f4", sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(F.cosine_similarity, zero, zero)
    np.testing.assert_array_equal(dpnp.asnumpy(y), [0, 0])
    assert all(np.isfinite(dpnp.asnumpy(g)).all() for g in pullback(dpnp.ones_like(y)))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nansum"])
def test_results_have_the_given_dtype(name, queue):
    x = dpnp.asarray([True, True], sycl_queue=queue)
    assert getattr(F, name)(x, 0, dtype="float32").dtype == "float32"
