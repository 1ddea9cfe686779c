# SPDX-License-Identifier: Apache-2.0
"""Writes to arguments change the caller's arrays, as in torch, or are refused."""

import dpnp
import numpy as np
import pytest
from function_modules import Net

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

VALUES = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0], [7.0, 8.0, -9.0]], "f4")


def _twice(x):
    x += 1
    x *= 2
    return x * x


def _named(x):
    y = x
    x -= 1
    return y * 2


def _elements(x):
    x[:, 0] = 7
    x[1] *= 2
    return x + 1


def _views(x):
    x.T[0] += 1
    row = x[2]
    x += 1
    return row * 2


def _integers(x):
    x //= 2
    return x + 1


FUNCTIONS = {
    "twice": _twice, "other name": _named, "elements": _elements, "views": _views,
    "integers": _integers,
}  # fmt: skip


WAYS = {
    "called": lambda f, x: Net(f)(x),
    "nested": lambda f, x: nn.Sequential(nn.Identity(), Net(f))(x),
    "beside a gradient": lambda f, x: sycl_dnn.vjp(
        lambda w, xs: (w * 1, f(xs["x"])), F.ones(1, device=x.sycl_queue), xs={"x": x})[0][1],
    "without a gradient": lambda f, x: sycl_dnn.value_and_grad(
        lambda w, x: (w * 1, f(x)), has_aux=True)(F.ones((), device=x.sycl_queue), x)[0][1],
    "compiled": sycl_dnn.compile(lambda f, x: f(x)),
    "compiled module": sycl_dnn.compile(lambda f, x: Net(f)(x)),
    "planned": lambda f, x: sycl_dnn.plan(f, x)(),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layout", ["dense", "transposed", "strided"])
@pytest.mark.sweep(4)
def test_the_callers_array_has_what_was_written(name, way, layout, queue):
    function = FUNCTIONS[name]
    values = VALUES.astype("i4") if name == "integers" else VALUES
    if layout == "strided":
        x = dpnp.zeros((3, 6), dtype=values.dtype, sycl_queue=queue)[:, ::2]
    else:
        x = dpnp.zeros((3, 3), dtype=values.dtype, sycl_queue=queue)
        x = x.T if layout == "transposed" else x
    for _ in range(2):
        expected, x[...] = values.copy(), dpnp.asarray(values, sycl_queue=queue)
        result = function(expected)
        actual = WAYS[way](function, x)
        np.testing.assert_array_equal(actual.asnumpy(), result)
        np.testing.assert_array_equal(x.asnumpy(), expected)


def test_gradients_read_what_was_there_before():
    def loss(w, x):
        y = (w * x).sum()
        x *= 3
        return y + (w * w * x).sum()

    x, w = dpnp.asarray(VALUES), F.full((3,), 2.0)
    expected = VALUES.sum(0) + 2 * 2 * 3 * VALUES.sum(0)
    value, gradient = sycl_dnn.value_and_grad(loss)(w, x)
    np.testing.assert_allclose(gradient.asnumpy(), expected)
    np.testing.assert_array_equal(x.asnumpy(), 3 * VALUES)
    assert float(value) == pytest.approx(2 * VALUES.sum() + 12 * VALUES.sum())


def test_arrays_in_trees_and_of_other_dtypes():
    @sycl_dnn.compile
    def step(state, grads):
        for name in state:
            state[name] -= 0.5 * grads[name]
        return state["w"].sum()

    w = sycl_dnn.asarray(F.full((4,), 3.0), "bfloat16")
    state = {"w": w, "b": F.ones(2)}
    grads = {"w": sycl_dnn.asarray(F.full((4,), 2.0), "bfloat16"), "b": F.full((2,), 4.0)}
    assert float(step(state, grads)) == 8.0
    assert w.tolist() == [2.0] * 4
    assert state["b"].tolist() == [-1.0] * 2


@pytest.mark.parametrize(
    "gradient",
    [
        lambda x: sycl_dnn.grad(lambda x: _twice(x).sum())(x),
        lambda x: sycl_dnn.compile(sycl_dnn.grad(lambda x: Net(_twice)(x).sum()))(x),
        lambda x: sycl_dnn.jvp(_twice, (x,), (x * 1,)),
        lambda x: sycl_dnn.hessian(lambda x: _twice(x).sum())(x),
    ],
    ids=["grad", "compiled", "jvp", "hessian"],
)
def test_arguments_with_gradients_are_not_written(gradient):
    """As torch's leaves that require a gradient."""
    x = dpnp.asarray(VALUES)
    with pytest.raises(TypeError, match="argument of a differentiated function cannot be written"):
        gradient(x)
    np.testing.assert_array_equal(x.asnumpy(), VALUES)


def test_arguments_that_share_memory_are_refused():
    class Sum(nn.Module):
        def forward(self, x, y):
            x += 1
            return x * y

    x, net = dpnp.asarray(VALUES), Sum()
    for call in (net, sycl_dnn.compile(lambda x, y: net(x, y))):
        for other in (x, x[1], x.T):
            with pytest.raises(ValueError, match="must not share memory with another argument"):
                call(x, other)
        np.testing.assert_array_equal(x.asnumpy(), VALUES)
        rows = dpnp.asarray(np.concatenate([VALUES, VALUES]))
        np.testing.assert_array_equal(call(rows[:3], rows[3:]).asnumpy(), (VALUES + 1) * VALUES)
    with pytest.raises(ValueError, match="positive strides"):
        net(dpnp.broadcast_to(F.ones(1, 3), (3, 3)), F.ones(3))
    with pytest.raises(TypeError, match="cannot write to an array that the forward captures"):
        net(sycl_dnn.freeze(F.ones(3)), F.ones(3))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_checkpointed_functions_and_rules_write_only_to_what_they_make(is_compiled):
    @sycl_dnn.custom_vjp
    def square(y):
        return y * y

    def forward(y):
        y += 1
        return y * y, y

    square.defvjp(forward, lambda y, dy: (2 * y * dy,))

    def loss(block):
        def whole(x):
            y = x * 2
            return block(y).sum() + y.sum()

        whole = sycl_dnn.grad(whole)
        return sycl_dnn.compile(whole) if is_compiled else whole

    for block in (sycl_dnn.checkpoint(_twice), square):
        with pytest.raises(RuntimeError, match="cannot write to a tensor that it did|read after"):
            loss(block)(dpnp.asarray(VALUES))
    inner = loss(sycl_dnn.checkpoint(lambda y: _twice(y * 1)))(dpnp.asarray(VALUES))
    np.testing.assert_allclose(inner.asnumpy(), 16 * (2 * VALUES + 1) + 2, rtol=1e-6)


def test_results_are_views_that_were_written_over():
    def function(x):
        y = x * 2
        z = y[0]
        y += 1
        return {"z": z, "x": x}

    x = dpnp.asarray(VALUES)
    ways = (lambda x: sycl_dnn.vjp(function, x)[0], sycl_dnn.compile(function))
    for call in (*ways, lambda x: sycl_dnn.plan(function, x)()):
        np.testing.assert_array_equal(call(x)["z"].asnumpy(), 2 * VALUES[0] + 1)


def test_arrays_that_a_module_holds_are_arguments_unless_it_is_captured():
    held = F.zeros(3)

    class Holding(nn.Module):
        def __init__(self):
            super().__init__()
            self.holder = {"held": held}

        def forward(self, x):
            self.holder["held"].add_(1)
            return x * 1

    Holding()(dpnp.asarray(VALUES))
    assert held.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="cannot write to an array that the forward captures"):
        sycl_dnn.compile(lambda x: Holding()(x))(dpnp.asarray(VALUES))
    assert held.tolist() == [1, 1, 1]
