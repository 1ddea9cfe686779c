# SPDX-License-Identifier: Apache-2.0
"""Derivatives where a factor is infinite: tangents are gradients, mixed second ones are right."""

import math

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.nn import torch_names

POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 3.0, 2.5, math.inf, -math.inf, math.nan]
FUNCTIONS = {
    "pow": lambda x: F.pow(x, x),
    "pow of zeros": lambda x: F.pow(x, F.zeros_like(x)),
    "logit": F.logit,
    "bounded logit": lambda x: F.logit(x, 0.1),
    "hardswish": F.hardswish,
    "digamma": F.digamma,
    "xlogy": lambda x: F.xlogy(x, 2.0),
    "xlog1py": lambda x: torch_names.special.xlog1py(x, 1.0),
    "entr": torch_names.special.entr,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_of_elements_are_their_gradients(name, queue):
    function = FUNCTIONS[name]
    x = dpnp.asarray(POINTS, dtype="f4", sycl_queue=queue)
    seed = dpnp.linspace(0.5, 1.5, x.size, dtype="f4", sycl_queue=queue)
    gradient = sycl_dnn.vjp(function, x)[1](seed)[0]
    tangent = sycl_dnn.jvp(function, (x,), (seed,))[1]
    np.testing.assert_allclose(dpnp.asnumpy(tangent), dpnp.asnumpy(gradient), rtol=1e-5)


def test_powers_have_mixed_derivatives_at_exponent_0(queue):
    x = dpnp.asarray([2.0, 4.0, 0.0], dtype="f4", sycl_queue=queue)
    zeros = dpnp.zeros_like(x)
    slope = sycl_dnn.grad(lambda x, y: F.sum(F.pow(x, y)))
    actual = sycl_dnn.jvp(lambda y: slope(x, y), (zeros,), (zeros + 1,))[1]
    assert dpnp.asnumpy(actual[:2]).tolist() == [0.5, 0.25]
    assert dpnp.asnumpy(slope(x, zeros)).tolist() == [0.0, 0.0, 0.0]


def test_terms_of_entropies_have_gradients_at_0(queue):
    x, y = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in ([0.0, 2.0], [1.0, 1.0]))
    slope = sycl_dnn.grad(lambda x: F.sum(torch_names.special.xlog1py(x, y)))(x)
    np.testing.assert_allclose(dpnp.asnumpy(slope), math.log(2), rtol=1e-6)
    slope = sycl_dnn.grad(lambda x: F.sum(torch_names.special.entr(x)))(x)
    assert dpnp.asnumpy(slope)[0] == math.inf


def test_scaled_slices_have_second_derivatives_at_elements_of_0(queue):
    x = dpnp.asarray([[0.0, 2.0], [3.0, 4.0]], dtype="f4", sycl_queue=queue)
    slope = sycl_dnn.grad(lambda x: F.sum(torch_names.renorm(x, 2.0, 0, 1.0)))
    seed = dpnp.asarray([[1.0, 0.0], [0.0, 0.0]], dtype="f4", sycl_queue=queue)
    tangent = sycl_dnn.jvp(slope, (x,), (seed,))[1]
    # Of (a + b) / sqrt(a**2 + b**2) at a = 0: -1 / b**2 along both axes.
    np.testing.assert_allclose(dpnp.asnumpy(tangent), [[-0.25, -0.25], [0, 0]], rtol=1e-4)


def test_operands_of_two_dtypes_are_promoted_before_rounding(queue):
    x = dpnp.asarray([0.3, 1.7], dtype="f8", sycl_queue=queue)
    n = dpnp.asarray([3, 5], dtype="i1", sycl_queue=queue)
    actual = torch_names.special.xlog1py(x, n)
    np.testing.assert_allclose(dpnp.asnumpy(actual), [0.3, 1.7] * np.log1p([3, 5]), rtol=1e-14)
    half = torch_names.ldexp(x.astype("f2"), n)
    assert half.dtype == np.float16
    assert dpnp.asnumpy(half).tolist() == np.ldexp(np.float16([0.3, 1.7]), [3, 5]).tolist()


def test_powers_of_two_may_overflow(queue):
    x, n = (dpnp.asarray(v, sycl_queue=queue) for v in ([1e-30, 1e30, 0.0], [200, -200, 150]))
    actual = dpnp.asnumpy(torch_names.ldexp(x.astype("f4"), n))
    assert actual.tolist() == np.ldexp(np.float32([1e-30, 1e30, 0]), [200, -200, 150]).tolist()


def test_hard_samples_of_nan_are_nan(queue):
    x = dpnp.asarray([[math.nan, 1.0], [0.0, 1.0]], dtype="f4", sycl_queue=queue)
    rows = dpnp.asnumpy(F.gumbel_softmax(x, hard=True)).sum(1)
    assert math.isnan(rows[0])
    assert rows[1] == 1
