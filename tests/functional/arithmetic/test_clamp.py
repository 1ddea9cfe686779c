# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((4, 6), "distinct")


def case(name, *args, dtype="float32"):
    return Case(f"clamp-{name}", F.clamp, args, torch=of_torch("clamp"), dtype=dtype)


CASES = [
    case("both", X, -0.3, 0.4),
    case("low", X, 0.03),
    case("high", X, None, 0.03),
    case("low-array", X, Spec((4, 6))),
    case("high-array", X, None, Spec((6,))),
    case("arrays", X, Spec((4, 6), layout="transposed"), Spec((4, 6), "positive")),
    case("crossing", Spec((4, 6)), Spec((4, 6)), Spec((4, 6))),
    # torch's own clamp fails here.
    replace(case("broadcast", Spec((4, 1), "distinct"), Spec((6,)), Spec((3, 1, 1), "positive")),
            torch=lambda x, low, high: x.maximum(low).minimum(high)),
    case("empty", Spec((0, 3)), Spec((3,))),
]  # fmt: skip
CASES += [c.as_dtype("bfloat16") for c in (CASES[0], CASES[5])]
TestCases = checked(CASES, sweep=2)


def _gradients(queue, *values, **numbers):
    arrays = [to_device(np.array(v), "float32", queue) for v in values]
    result, pullback = sycl_dnn.vjp(lambda *a: F.clamp(*a, **numbers), *arrays)
    return [dpnp.asnumpy(g).tolist() for g in pullback(F.ones_like(result))]


def test_numbers_have_the_gradient_of_their_elements(queue):
    """As in PyTorch since 2.14; before, elements at the bounds had it themselves."""
    assert _gradients(queue, [-1.0, 0.0, 0.5, 1.0, 2.0], min=0, max=1) == [[0, 0, 1, 0, 0]]
    assert _gradients(queue, [0.0, 1.0, np.nan], min=0) == [[0, 1, 0]]


def test_arrays_share_the_gradient_of_equal_elements(queue):
    x = [-1.0, 0.0, 0.5, 1.0, 2.0, 0.0, 1.0, 2.0]
    low = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    high = [1.0] * 8
    assert _gradients(queue, x, low, high) == [
        [0, 0.5, 1, 0.5, 0, 0, 1, 0],
        [1, 0.5, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0.5, 1, 0, 0, 1],
    ]
    # Where the bounds cross, the upper one is the result.
    assert _gradients(queue, [0.0, 1.5, 3.0], [2.0] * 3, [1.0] * 3) == [[0] * 3, [0] * 3, [1] * 3]
    assert _gradients(queue, [0.0, 1.0], [0.0, 0.0]) == [[0.5, 1], [0.5, 0]]


def test_numbers_that_cross(queue):
    """The upper one is the result, also compiled; the gradient is 0."""
    x = to_device(np.array([-3.0, 0.0, 5.0, np.nan]), "float32", queue)
    both = sycl_dnn.value_and_grad(lambda x: (F.sum(F.clamp(x, 1.0, -1.0)[:3]), None), has_aux=True)
    for way in (lambda f: f, sycl_dnn.compile):
        result = dpnp.asnumpy(way(lambda x: F.clamp(x, 1.0, -1.0))(x))
        np.testing.assert_array_equal(result, [-1, -1, -1, np.nan])
        assert dpnp.asnumpy(way(both)(x)[1]).tolist() == [0] * 4


def test_nan_propagates(queue):
    x = to_device(np.array([np.nan, 1.0, 0.5]), "float32", queue)
    low = to_device(np.array([0.0, np.nan, 1.0]), "float32", queue)
    np.testing.assert_array_equal(dpnp.asnumpy(F.clamp(x, 0.75, 2.0)), [np.nan, 1, 0.75])
    np.testing.assert_array_equal(dpnp.asnumpy(F.clamp(x, low)), [np.nan, np.nan, 1])


@pytest.mark.parametrize("bounds", [(np.nan, 1.0), (0.0, np.nan), (np.nan, None)], ids=str)
def test_a_bound_that_is_nan_makes_all_nan(bounds, queue):
    x = dpnp.asarray([-2.0, 0.5, 3.0], dtype="f4", sycl_queue=queue)
    for call in (lambda x: F.clamp(x, *bounds), sycl_dnn.compile(lambda x: F.clamp(x, *bounds))):
        assert dpnp.all(dpnp.isnan(call(x)))
