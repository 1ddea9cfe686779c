# SPDX-License-Identifier: Apache-2.0
"""An infinite weight of one class does not affect rows of other classes."""

import dpnp
import numpy as np
import pytest
from arrays import to_float32

import sycl_dnn
from sycl_dnn import functional as F

SCORES = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5], [-2.0, 0.0, 1.5]], "f4")
WEIGHT = np.array([1.0, np.inf, 2.0], "f4")
TARGET = np.array([0, 1, 2])


@pytest.fixture(params=["float32", "bfloat16"])
def given(request, queue):
    x, weight = (
        sycl_dnn.asarray(dpnp.asarray(v, sycl_queue=queue), request.param) for v in (SCORES, WEIGHT)
    )
    return x, dpnp.asarray(TARGET, sycl_queue=queue), weight


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_other_rows_keep_their_weights(name, given):
    x, target, weight = given
    plain = to_float32(getattr(F, name)(x, target, reduction="none"))
    result = to_float32(getattr(F, name)(x, target, weight, reduction="none"))
    np.testing.assert_allclose(result, plain * WEIGHT, rtol=1e-2)


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_gradients_of_other_rows_are_finite(name, given):
    x, target, weight = given

    def loss(x):
        return getattr(F, name)(x, target, weight, reduction="none")

    _, pullback = sycl_dnn.vjp(loss, x)
    (slope,) = pullback(F.ones_like(loss(x)))
    others = to_float32(slope)[[0, 2]]
    assert np.isfinite(others).all()
    if name == "nll_loss":
        np.testing.assert_array_equal(to_float32(slope)[0], [-1.0, 0.0, 0.0])
        np.testing.assert_array_equal(to_float32(slope)[1], [0.0, -np.inf, 0.0])


def test_only_classes_within_the_margin_use_the_weight(given):
    x, _, weight = given
    rows = F.stack([x[1], F.mul(x[1], float("nan")), x[0]])
    # The second class of each row: above the others by less than the margin; NaN; above them.
    target = dpnp.asarray([0, 0, 1], sycl_queue=x.sycl_queue)
    result, pullback = sycl_dnn.vjp(
        lambda x: F.multi_margin_loss(x, target, margin=0.5, weight=weight, reduction="none"), rows
    )
    np.testing.assert_array_equal(to_float32(result), [0.0, 0.0, np.inf])
    (slope,) = pullback(F.ones_like(result))
    np.testing.assert_array_equal(to_float32(slope)[:2], np.zeros((2, 3)))
