# SPDX-License-Identifier: Apache-2.0

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F

FUNCTIONS = ("softmax", "log_softmax", "softmin")
SPECS = [
    (Spec((3, 5, 7)), 0), (Spec((3, 5, 7)), 1), (Spec((3, 5, 7)), -1), (Spec((11,)), 0),
    (Spec((2, 6, 3, 5), layout="channels_last"), 1),
    (Spec((2, 6, 3, 5), layout="channels_last"), 3),
    (Spec((4, 5), layout="strided"), 1), (Spec((4, 5), layout="reversed"), 1),
    (Spec((4, 5, 3), layout="transposed"), 1), (Spec((4, 1)), 1), (Spec((0, 3)), 1),
    (Spec((3, 0)), 0), (Spec((2, 1, 3, 2, 2, 3)), 2), (Spec(()), 0),
    (Spec((7, 40), layout="transposed"), 0), (Spec((7, 40), layout="transposed"), 1),
    (Spec((2, 8, 5, 7), layout="transposed"), 3), (Spec((40, 4), layout="interleaved"), 1),
]  # fmt: skip


def make(name, spec, dim, dtype="float32"):
    words = f"{name}-{'x'.join(map(str, spec.shape)) or 'scalar'}-{spec.layout}-{dim}"
    return Case(words, getattr(F, name), (spec, dim), torch=name, dtype=dtype)


CASES = [make(n, *s) for n in FUNCTIONS for s in SPECS]
CASES += [make(n, *s, "bfloat16") for n in FUNCTIONS for s in SPECS[1:5]]
CASES += [make("softmax", *SPECS[1], "float16")]
TestCases = checked(CASES, sweep=12)


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (3, 4, 5), (2, 3, 4, 5)])
def test_implicit_dim(shape, queue):
    x = np.random.default_rng(0).standard_normal(shape)
    sycl_dnn.cache.clear()
    with pytest.warns(UserWarning, match="softmax: dim should be given"):
        actual = F.softmax(to_device(x, "float32", queue))
    expected = F.softmax(to_device(x, "float32", queue), 0 if x.ndim in (0, 1, 3) else 1)
    np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(expected), rtol=1e-5)


def test_dtype(queue):
    x = to_device(np.random.default_rng(0).standard_normal((3, 5)), "bfloat16", queue)
    wide = F.softmax(x, 1, dtype="float32")
    assert wide.dtype == np.float32
    np.testing.assert_allclose(dpnp.asnumpy(wide).sum(1), 1, rtol=1e-6)
    assert F.log_softmax(wide, 1, dtype="bfloat16").dtype == "bfloat16"
    y, pullback = sycl_dnn.vjp(F.softmax, x, 1, dtype="float32")
    assert pullback(y)[0].dtype == "bfloat16"


def test_out(queue):
    x = to_device(np.random.default_rng(0).standard_normal((3, 5)), "float32", queue)
    expected = dpnp.asnumpy(F.softmax(x, 1))
    assert F.softmax(x, 1, out=x) is x
    np.testing.assert_array_equal(dpnp.asnumpy(x), expected)


@pytest.mark.float64
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_gradient_through_a_wider_dtype(name, queue):
    x = dpnp.asarray(np.array([0.5, -1.0, 2.0], "f4"), sycl_queue=queue)
    weights = dpnp.asarray(np.array([1.0, 2.0, -1.0]), sycl_queue=queue)

    def loss(x, dtype):
        y = getattr(F, name)(x, 0, dtype=dtype)
        return F.sum(F.mul(y, F.astype(weights, dtype)))

    found, expected = (sycl_dnn.grad(loss)(x, dtype) for dtype in ("float64", "float32"))
    assert found.dtype == "float32"
    np.testing.assert_allclose(dpnp.asnumpy(found), dpnp.asnumpy(expected), rtol=1e-5, atol=1e-6)
