# SPDX-License-Identifier: Apache-2.0
"""``stop_gradient`` and ``custom_vjp``: in vjp, in compile, nested."""

import dpnp
import numpy as np
import pytest
from arrays import float32_on_device as on_device

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812


@pytest.fixture
def x():
    return on_device(np.array([1.0, 2.0, -3.0]))


def grad(function, *args, is_compiled=False):
    run = lambda *a: sycl_dnn.vjp(function, *a)[1](1.0)  # noqa: E731
    return [dpnp.asnumpy(g) for g in (sycl_dnn.compile(run) if is_compiled else run)(*args)]


@pytest.fixture(params=[False, True], ids=["vjp", "compile"])
def is_compiled(request):
    return request.param


def test_a_stopped_value_is_a_constant(x, is_compiled):
    (actual,) = grad(lambda v: F.sum(v * sycl_dnn.stop_gradient(v)), x, is_compiled=is_compiled)
    np.testing.assert_array_equal(actual, [1, 2, -3])


def test_trees_are_stopped_and_arrays_stay_themselves(x):
    def loss(params):
        held = sycl_dnn.stop_gradient({"w": params["w"], "n": None})
        return F.sum(held["w"] * params["w"] * params["w"])

    (actual,) = sycl_dnn.vjp(loss, {"w": x})[1](1.0)
    np.testing.assert_array_equal(dpnp.asnumpy(actual["w"]), [2, 8, 18])
    assert sycl_dnn.stop_gradient(x) is x


def test_a_gradient_that_is_stopped_has_no_second_derivative(x, is_compiled):
    def penalty(v):
        (slope,) = sycl_dnn.vjp(lambda u: F.sum(u * u * u), v)[1](1.0)
        return F.sum(sycl_dnn.stop_gradient(slope) * v)

    (actual,) = grad(penalty, x, is_compiled=is_compiled)
    np.testing.assert_allclose(actual, [3, 12, 27], rtol=1e-6)


def test_stop_gradient_holds_inside_a_checkpointed_function(x):
    block = sycl_dnn.checkpoint(lambda v: v * sycl_dnn.stop_gradient(v) * v)

    def penalty(v):
        (slope,) = sycl_dnn.vjp(lambda u: F.sum(block(u)), v)[1](1.0)
        return F.sum(slope)

    # The slope is 2 v c, c constant: its own is 2 c.
    np.testing.assert_allclose(grad(penalty, x)[0], [2, 4, -6], rtol=1e-6)


@sycl_dnn.custom_vjp
def straight_through(v):
    return F.where(v > 0, v * 0 + 1, v * 0 - 1)


straight_through.defvjp(lambda v: (F.where(v > 0, v * 0 + 1, v * 0 - 1), None), lambda _, dy: (dy,))


def test_the_custom_rule_computes_the_gradient(x, is_compiled):
    value = straight_through(x)
    np.testing.assert_array_equal(dpnp.asnumpy(value), [1, 1, -1])
    (actual,) = grad(lambda v: F.sum(straight_through(v) * v), x, is_compiled=is_compiled)
    np.testing.assert_allclose(actual, np.array([1, 2, -3]) + np.array([1, 1, -1]), rtol=1e-6)


@sycl_dnn.custom_vjp
def scaled_product(params, scale):
    return params["a"] * params["b"] * scale


def _forward(params, scale):
    return params["a"] * params["b"] * scale, {"params": params, "root": (params["a"] * 1, scale)}


def _backward(residuals, dy):
    params, (a, scale) = residuals["params"], residuals["root"]
    # Twice the gradient in a, none in the scale.
    return {"a": params["b"] * dy * (2 * scale), "b": a * dy * scale}, None


scaled_product.defvjp(_forward, _backward)


def test_residuals_and_gradients_are_trees(x, is_compiled):
    run = lambda p: sycl_dnn.vjp(lambda q: F.sum(scaled_product(q, 3.0)), p)[1](1.0)[0]  # noqa: E731
    actual = (sycl_dnn.compile(run) if is_compiled else run)({"a": x, "b": x + 1})
    np.testing.assert_allclose(dpnp.asnumpy(actual["a"]), [12, 18, -12], rtol=1e-6)
    np.testing.assert_allclose(dpnp.asnumpy(actual["b"]), [3, 6, -9], rtol=1e-6)


def test_second_derivatives_of_a_rule_whose_arguments_are_one_array(x, is_compiled):
    @sycl_dnn.custom_vjp
    def product(a, b):
        return F.sin(a) * b

    def backward(residuals, dy):  # ten times the slope to the first
        a, b = residuals
        return dy * F.cos(a) * b * 10, dy * F.sin(a)

    product.defvjp(lambda a, b: (F.sin(a) * b, (a, b)), backward)
    slope = sycl_dnn.grad(lambda x: F.sum(product(x, x)))
    actual = grad(lambda x: F.sum(slope(x)), x, is_compiled=is_compiled)[0]
    x = x.asnumpy()
    np.testing.assert_allclose(actual, 10 * (np.cos(x) - x * np.sin(x)) + np.cos(x), rtol=1e-5)


def test_invalid_rules_are_refused(x):
    @sycl_dnn.custom_vjp
    def bad(v):
        return v

    with pytest.raises(TypeError, match="bad has no rule yet"):
        grad(lambda v: F.sum(bad(v)), x)
    bad.defvjp(lambda v: (v, None), lambda _, dy: dy)
    with pytest.raises(TypeError, match="backward of bad must return 1 gradients"):
        grad(lambda v: F.sum(bad(v)), x)
    bad.defvjp(lambda v: (v, None), lambda _, dy: (F.sum(dy),))
    with pytest.raises(ValueError, match=r"backward of bad must return a gradient of shape \(3,\)"):
        grad(lambda v: F.sum(bad(v)), x)


_factor = 2.0


@sycl_dnn.custom_vjp
def steep(v):
    return v


steep.defvjp(lambda v: (v, None), lambda _, dy: (dy * _factor,))


def test_values_that_a_rule_reads_are_checked_at_each_call(x, is_compiled, monkeypatch):
    run = lambda v: sycl_dnn.vjp(lambda u: F.sum(steep(u)), v)[1](1.0)[0]  # noqa: E731
    run = sycl_dnn.compile(run) if is_compiled else run
    assert dpnp.asnumpy(run(x)).tolist() == [2, 2, 2]
    monkeypatch.setitem(globals(), "_factor", 5.0)
    assert dpnp.asnumpy(run(x)).tolist() == [5, 5, 5]


@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile], ids=["called", "compiled"])
def test_rules_may_create_arrays_in_nested_gradients(wrap, queue):
    x = dpnp.full(3, 2.0, dtype="f4", sycl_queue=queue)

    def cubes(x):
        return F.sum(x**3 * F.tensor([1.0, 2.0, 3.0]))

    ruled = sycl_dnn.custom_vjp(cubes)
    ruled.defvjp(
        lambda x: (cubes(x) + F.zeros(()), x),
        lambda x, dy: (dy * 3 * x**2 * F.tensor([1.0, 2.0, 3.0]),),
    )
    for function in (sycl_dnn.checkpoint(cubes), ruled):
        twice = sycl_dnn.grad(lambda x, f=function: F.sum(sycl_dnn.grad(f)(x) ** 2))
        found = wrap(twice)(x)
        np.testing.assert_allclose(found.asnumpy(), 2 * 12 * 12 * np.array([1, 4, 9]), rtol=1e-5)


def test_writes_to_what_stop_gradient_returns_are_writes_to_the_array(x):
    def f(x):
        y = x * 1.0
        held = sycl_dnn.stop_gradient(y)
        held += 1
        y *= 2
        return y + held

    expected = f(x)
    for function in (f, sycl_dnn.compile(f)):
        value, pullback = sycl_dnn.vjp(function, x)
        np.testing.assert_allclose(dpnp.asnumpy(value), dpnp.asnumpy(expected), rtol=1e-6)
        (gradient,) = pullback(F.ones_like(value))
        np.testing.assert_allclose(dpnp.asnumpy(gradient), 2.0)


def test_forward_may_call_the_function():
    @sycl_dnn.custom_vjp
    def tripled(x, n):
        return x * n

    tripled.defvjp(lambda x, n: (tripled(x, n), x), lambda x, dy: (3 * dy * x, None))
    for way in (lambda f: f, sycl_dnn.compile):
        gradient = way(sycl_dnn.grad(lambda x: F.sum(tripled(x, 2))))
        assert gradient(F.ones(2) * 5).tolist() == [15, 15]


def test_captured_values_have_no_gradient():
    def loss(w, x):
        @sycl_dnn.custom_vjp
        def scaled(x):
            return x * w

        scaled.defvjp(lambda x: (x * w, w), lambda w, dy: (dy * w,))
        return F.sum(scaled(x) * w)

    for argnums in (0, (0, 1)):  # whether the argument is constant
        found = sycl_dnn.grad(loss, argnums=argnums)(F.ones(2) * 3, F.ones(2) * 5)
        assert (found if argnums == 0 else found[0]).tolist() == [15, 15]
