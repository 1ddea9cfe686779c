# SPDX-License-Identifier: Apache-2.0
"""Constants of compiled functions: captured arrays, named and frozen arguments."""

import gc
import weakref

import dpnp
import pytest
from comparing import assert_same

import sycl_dnn
from sycl_dnn import functional as F


def test_named_constants(make, weights):
    @sycl_dnn.compile(constants="p")
    def function(x, p):
        return F.relu(F.linear(x, p["w"], p["b"]))

    p = {"w": weights, "b": make(16)}
    x = make(3, 16)
    assert_same(function(x, p), F.relu(F.linear(x, p["w"], p["b"])))
    assert function.explain(x, p).n_steps == 1
    other = {"w": make(16, 16), "b": p["b"]}
    assert_same(function(x, p=other), F.relu(F.linear(x, other["w"], other["b"])))
    assert function.cache_info().size == 2
    with pytest.raises(ValueError, match="constants must name parameters"):
        sycl_dnn.compile(lambda x: x, constants=("weights",))


def test_frozen_arguments_are_constants(make, weights):
    function = sycl_dnn.compile(F.linear)
    frozen, x = sycl_dnn.freeze(weights), make(64, 16)
    assert_same(function(x, frozen), F.linear(x, weights))
    assert function.explain(x, frozen).n_reorders == 0


def test_plain_arguments_may_change(make, weights):
    function = sycl_dnn.compile(lambda x, w: F.relu(F.linear(x, w)))
    x = make(3, 16)
    function(x, weights)
    weights[...] = -weights
    assert_same(function(x, weights), F.relu(F.linear(x, weights)))


def test_clear_reads_constants_again(make):
    w, v = make(16, 3, 3, 3), make(16)
    function = sycl_dnn.compile(lambda x: F.conv2d(x, w) * v[:, None, None])
    x = make(2, 3, 8, 8)
    function(x)
    w[...] = -w
    function.clear()
    assert_same(function(x), F.conv2d(x, w) * v[:, None, None])


def test_a_function_that_returns_its_argument(make, weights):
    x = make(3, 16)
    function = sycl_dnn.compile(lambda a: (a, weights, F.relu(a)))
    same, constant, result = function(x)
    assert same is x
    assert_same((constant, result), (weights, F.relu(x)))


@pytest.mark.slow
def test_a_deleted_function_frees_its_constants(make):
    weights = make(16, 16)
    compiled = sycl_dnn.compile(lambda x: F.linear(x, weights))
    compiled(make(4, 16))
    gone = weakref.ref(compiled)
    del compiled
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("form", [("int8", 0, None), ("int4", 1, 16), ("uint4", 1, 16)])
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.filterwarnings("ignore::sycl_dnn.FallbackWarning")
def test_integer_weights(form, dtype, make):
    weight, b, x = F.quantize_dynamic(make(16, 32), *form), make(16), make(3, 32)
    function = lambda a: F.relu(F.linear(a, weight, b)) + 1.0  # noqa: E731
    compiled = sycl_dnn.compile(function, dtype=dtype)
    assert_same(compiled(x), function(x), 2e-5 if dtype is None else 3e-2)
    if dtype is None:
        assert compiled.explain(x).n_steps == 1


def test_an_array_may_be_constant_in_one_argument_only(queue):
    compiled = sycl_dnn.compile(lambda x, w: x + w * 2.0, constants="w")
    x, other = (dpnp.full(3, v, dtype="f4", sycl_queue=queue) for v in (1.0, 5.0))
    assert dpnp.asnumpy(compiled(x, x)).tolist() == [3, 3, 3]
    assert dpnp.asnumpy(compiled(other, x)).tolist() == [7, 7, 7]


def test_the_order_of_constants_is_that_of_the_call(queue):
    compiled = sycl_dnn.compile(lambda x, p: x + next(iter(p.values())), constants="p")
    x, other = (dpnp.full(3, v, dtype="f4", sycl_queue=queue) for v in (1.0, 5.0))
    assert dpnp.asnumpy(compiled(x, {"a": x, "b": other})).tolist() == [2, 2, 2]
    assert dpnp.asnumpy(compiled(x, {"b": other, "a": x})).tolist() == [6, 6, 6]


def test_constants_that_a_step_computes_beside_a_result():
    a, b = (dpnp.asarray(v, dtype="f4") for v in ([0.5, -0.25], [0.25]))
    along_a, along_b = (dpnp.asarray(v, dtype="f4") for v in ([1.0, -2.0], [0.5]))

    def loss(a, b):
        return F.sum(a * a * a) + F.sum(F.square(a[1:2] - b))

    def along(a, b):
        of_a, of_b = sycl_dnn.grad(loss, argnums=(0, 1))(a, b)
        return F.sum(of_a * along_a) + F.sum(of_b * along_b)

    # One kernel computes 2 (along_a[1] - along_b), which a gradient adds to others, and the result
    # for b.
    second = sycl_dnn.compile(sycl_dnn.grad(along, argnums=(0, 1)))
    for _ in range(2):
        of_a, of_b = second(a, b)
        assert of_a.tolist() == [3.0, -2.0]
        assert of_b.tolist() == [5.0]
