# SPDX-License-Identifier: Apache-2.0
"""Elements reduced by index."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X, SRC, INDEX = Spec((4, 5), "distinct"), Spec((3, 7), "distinct"), Spec((3, 7), "places", high=5)


def _case(reduce, include_self, dtype="float32", args=(X, 1, INDEX, SRC)):
    words = f"scatter_reduce-{reduce}-{include_self}-{args[1]}"
    options = {"include_self": include_self}
    call = of_torch("scatter_reduce")
    return Case(words, F.scatter_reduce, (*args, reduce), options, call, dtype)


CASES = [
    *(_case(reduce, include_self) for reduce in ("sum", "mean", "prod", "amax", "amin")
      for include_self in (True, False)),
    _case("amax", True, "bfloat16"),
    _case("mean", False, args=(X, 0, Spec((7, 3), "places", high=4), Spec((7, 3)))),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_equal_extremes_share_the_gradient(queue):
    x = dpnp.asarray([2.0, 5.0], dtype="f4", sycl_queue=queue)
    src = dpnp.asarray([2.0, 2.0, 1.0, 9.0], dtype="f4", sycl_queue=queue)
    index = dpnp.asarray([0, 0, 0, 7], sycl_queue=queue)

    def total(x, src):
        return F.sum(F.scatter_reduce(x * x, 0, index, src * src, "amax"))

    of_x, of_src = sycl_dnn.grad(total, (0, 1))(x, src)
    np.testing.assert_allclose(of_x.asnumpy(), [4 / 3, 10], rtol=1e-6)
    np.testing.assert_allclose(of_src.asnumpy(), [4 / 3, 4 / 3, 0, 0], rtol=1e-6)


def test_products_with_zeros_have_torchs_gradients_and_second_derivatives(queue):
    x = dpnp.asarray([2.0, 0.0, 3.0, 5.0], dtype="f4", sycl_queue=queue)
    src = dpnp.asarray([4.0, 7.0, 0.0, 6.0, 0.0, 0.0], dtype="f4", sycl_queue=queue)
    index = dpnp.asarray([0, 1, 2, 2, 3, 3], sycl_queue=queue)

    def total(x, src):
        return F.sum(F.scatter_reduce(x, 0, index, src, "prod"))

    of_x, of_src = sycl_dnn.grad(total, (0, 1))(x, src)
    assert of_x.tolist() == [4, 7, 0, 0]
    assert of_src.tolist() == [2, 0, 18, 0, 0, 0]
    slopes = sycl_dnn.hessian(lambda src: total(x, src))(src).asnumpy()
    expected = np.zeros((6, 6))
    expected[[2, 3, 4, 5], [3, 2, 5, 4]] = [3, 3, 5, 5]
    np.testing.assert_array_equal(slopes, expected)


@pytest.mark.parametrize(
    ("reduce", "ufunc"), [("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum)]
)
@pytest.mark.parametrize("include_self", [True, False])
def test_the_time_does_not_grow_with_results_times_sources(reduce, ufunc, include_self, queue):
    n, rng = 200000, np.random.default_rng(3)  # 4e10 comparisons of pairs would take minutes
    x, src = (rng.uniform(0.9, 1.1, n).astype("f4") for _ in range(2))
    index = rng.integers(0, n, n)
    expected = x.copy()
    if not include_self:
        expected[index] = {"prod": 1, "amax": -np.inf, "amin": np.inf}[reduce]
    ufunc.at(expected, index, src)
    arrays = [dpnp.asarray(a, sycl_queue=queue) for a in (x, index, src)]
    actual = F.scatter_reduce(arrays[0], 0, *arrays[1:], reduce, include_self=include_self)
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8"])
@pytest.mark.sweep(2)
def test_integers(dtype, queue):
    x = dpnp.asarray([1, 2, 3], dtype=dtype, sycl_queue=queue)
    index = dpnp.asarray([0, 0, 2], sycl_queue=queue)
    expected = {"sum": [4, 2, 6], "mean": [1, 2, 3], "prod": [2, 2, 9], "amax": [2, 2, 3],
                "amin": [1, 2, 3]}  # fmt: skip
    for reduce, values in expected.items():
        found = F.scatter_reduce(x, 0, index, x, reduce)
        assert (found.dtype, found.tolist()) == (dtype, values)
    assert F.scatter_reduce(x, 0, index, x, "amin", include_self=False).tolist() == [1, 2, 3]
