# SPDX-License-Identifier: Apache-2.0
"""Conditions and loops: on values while differentiated, without a turn, of unknown shape."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

_ROWS = """g (float[N, 4] x) => (float[4] total, float[K, 4] sums) {
    shape = Shape(x)
    zero = Constant <value = int64 {0}> ()
    n = Gather(shape, zero)
    is_on = Constant <value = bool {1}> ()
    start = Constant <value = float[4] {0, 0, 0, 0}> ()
    total, sums = Loop(n, is_on, start) <body = b (int64 i, bool before, float[4] s)
        => (bool after, float[4] t, float[4] row) {
            after = Identity(before)
            one = Gather(x, i)
            t = Add(s, one)
            row = Mul(t, t) }> }"""


def test_gradients_through_a_condition_on_values(parsed):
    model = parsed("""g (float[N] x) => (float[N] y) {
        total = ReduceSum <keepdims = 0> (x)
        zero = Constant <value_float = 0.0> ()
        is_on = Greater(total, zero)
        y = If (is_on) <
            then_branch = g1 () => (float[N] a) { a = Mul(x, x) },
            else_branch = g2 () => (float[N] b) { b = Neg(x) }> }""")
    net = sycl_dnn.onnx.load(model)
    for values, expected in (([1, 2], [2, 4]), ([-1, -2], [-1, -1])):
        x = sycl_dnn.asarray(np.array(values, "f4"))
        assert sycl_dnn.grad(lambda x: F.sum(net(x)))(x).asnumpy().tolist() == expected


def test_gradients_through_elements_that_values_select(parsed):
    model = parsed("""g (float[N] x) => (float[M] y, int64[M] first) {
        y, first, inverse, counts = Unique(x) }""")
    net = sycl_dnn.onnx.load(model)
    x = sycl_dnn.asarray(np.array([3, 1, 3, 2], "f4"))
    y, first = net(x)
    assert (y.asnumpy().tolist(), first.asnumpy().tolist()) == ([1, 2, 3], [1, 3, 0])
    grad = sycl_dnn.grad(lambda x: F.sum(net(x)[0] * sycl_dnn.asarray(np.float32([1, 2, 5]))))(x)
    assert grad.asnumpy().tolist() == [5, 1, 0, 2]


@pytest.mark.parametrize("n", [3, 1, 0])
def test_a_loop_stacks_as_many_rows_as_it_has_turns(parsed, n):
    x = np.random.default_rng(n).standard_normal((n, 4)).astype("f4")
    total, sums = sycl_dnn.onnx.load(parsed(_ROWS))(x)
    np.testing.assert_allclose(total.asnumpy(), x.sum(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums.asnumpy(), np.cumsum(x, 0) ** 2, rtol=1e-5, atol=1e-6)


def test_no_turn_needs_a_declared_shape(parsed):
    model = parsed(_ROWS.replace("float[4] row", "float[J] row"))
    with pytest.raises(sycl_dnn.UnsupportedOperator, match=r"Loop.*must have a shape in the model"):
        sycl_dnn.onnx.load(model)(np.zeros((0, 4), "f4"))


def test_inputs_and_outputs_may_have_any_shape(parsed):
    model = parsed("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    net = sycl_dnn.onnx.load(model)
    assert (net.inputs[0].shape, net.outputs[0].shape) == (None, None)
    assert net(np.ones((1, 2), "f4")).asnumpy().tolist() == [[-1, -1]]
