# SPDX-License-Identifier: Apache-2.0
"""NumPy arguments of models: memory of earlier calls is used again once nobody needs it."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.onnx.passed_arrays import passed

pytestmark = pytest.mark.cpu  # the CPU writes to memory of CPUs

RNG = np.random.default_rng(5)


def test_memory_is_used_again(queue):
    values = RNG.random((7, 300)).astype("f4")
    addresses = set()
    for _ in range(3):
        array = passed(values, queue)
        np.testing.assert_array_equal(dpnp.asnumpy(array), values)
        addresses.add(array.get_array()._pointer)
        del array
    assert len(addresses) == 1


def test_arrays_of_other_shapes_in_blocks_of_one_size_are_used_again(queue):
    """Creating an array takes longer than a copy of few elements."""
    values = RNG.random((1, 32)).astype("f4"), RNG.random((1, 8)).astype("f4")
    arrays = [set(), set()]
    for _ in range(4):
        for value, seen in zip(values, arrays, strict=True):
            array = passed(value, queue)
            np.testing.assert_array_equal(sycl_dnn.asnumpy(array), value)
            seen.add(id(array.get_array()))
            del array
    assert [len(seen) for seen in arrays] == [1, 1]


def test_unfinished_work_keeps_its_memory(queue):
    values = [RNG.random((600, 600)).astype("f4") for _ in range(4)]
    results = []
    for value in values:
        array = passed(value, queue)
        results.append(dpnp.sort(array @ array, axis=1))  # not waited for
        del array
    for value, result in zip(values, results, strict=True):
        expected = np.sort(value @ value, axis=1)
        np.testing.assert_allclose(dpnp.asnumpy(result), expected, rtol=1e-4)


def test_results_that_are_arguments_are_kept(parsed):
    net = sycl_dnn.onnx.load(
        parsed("g (float[N] x) => (float[N] y, float[N] z) { y = Identity(x) z = Neg(x) }")
    )
    values = [RNG.random(500).astype("f4") for _ in range(6)]
    results = [net(value) for value in values]
    for value, (same, negative) in zip(values, results, strict=True):
        np.testing.assert_array_equal(same.asnumpy(), value)
        np.testing.assert_array_equal(negative.asnumpy(), -value)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 3), "f4"),
        np.array(2.5, "f4"),
        np.arange(12, dtype="f4").reshape(3, 4).T,
        np.array([True, False]),
        np.arange(5, dtype="f2"),
        np.arange(1 << 17, dtype="f4"),
    ],
    ids=["empty", "no axes", "transposed", "bool", "float16", "large"],
)
def test_arrays_of_all_kinds(value, queue):
    array = passed(value, queue)
    assert array.shape == value.shape
    np.testing.assert_array_equal(dpnp.asnumpy(array), value)


@pytest.mark.parametrize("names", ["xh", "hx"])
def test_calls_with_inputs_in_any_order_and_static_ones_are_repeated(names, parsed):
    net = sycl_dnn.onnx.load(parsed(
        "g (float[N] {}, float[N] {}, int64[r] shape) => (float[a, b] y) "
        "{{ s = Sub(x, h) y = Reshape(s, shape) }}".format(*names)
    ))  # fmt: skip
    x, h, shape = RNG.random(6).astype("f4"), RNG.random(6).astype("f4"), np.array([2, 3])
    results = [net(x=x, h=h, shape=shape).asnumpy() for _ in range(3)]
    np.testing.assert_array_equal(results, [(x - h).reshape(2, 3)] * 3)
    (folded,) = [f for m, f in sycl_dnn.nn.folded_calls._folded.items() if m is net]
    assert folded.program._plans.calls.hits == 2
