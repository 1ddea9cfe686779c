# SPDX-License-Identifier: Apache-2.0
"""``grad``, ``value_and_grad`` and the pullback of a scalar, over trees of arguments."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import dpnp
import numpy as np
import pytest
import wide_dtypes

import sycl_dnn
from sycl_dnn import functional as F


@dataclasses.dataclass
class Net:
    first: dict[str, Any]
    second: tuple[Any, ...]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def net_loss(params, x):
    hidden = F.tanh(F.matmul(x, params["first"]["w"]) + params["first"]["b"])
    return F.sum(F.square(F.matmul(hidden, params["second"][0])))


def numpy_loss(params, x):
    hidden = np.tanh(x @ params["first"]["w"] + params["first"]["b"])
    return float(np.sum((hidden @ params["second"][0]) ** 2))


def random_params(rng):
    return {
        "second": (rng.standard_normal((3, 2)),),
        "first": {"w": rng.standard_normal((4, 3)), "b": rng.standard_normal(3)},
    }


def on_device(value, queue):
    return sycl_dnn.tree.map(lambda a: dpnp.asarray(a, dtype="f4", sycl_queue=queue), value)


def differences(function, params, step=1e-5):
    """Return central differences of a float64 function of a tree of NumPy arrays."""
    leaves, structure = sycl_dnn.tree.flatten(params)
    found = [np.zeros_like(leaf) for leaf in leaves]
    for leaf, gradient in zip(leaves, found, strict=True):
        for index in np.ndindex(leaf.shape):
            kept = leaf[index]
            leaf[index] = kept + step
            above = function(params)
            leaf[index] = kept - step
            gradient[index] = (above - function(params)) / (2 * step)
            leaf[index] = kept
    return sycl_dnn.tree.unflatten(structure, found)


def assert_near(made, wanted):
    sycl_dnn.tree.map(
        lambda m, w: np.testing.assert_allclose(dpnp.asnumpy(m), w, rtol=2e-3, atol=2e-3),
        made,
        wanted,
    )


def test_value_and_gradient_of_a_tree(queue, rng):
    params, x = random_params(rng), rng.standard_normal((5, 4))
    expected = differences(lambda p: numpy_loss(p, x), params)
    value, gradient = sycl_dnn.value_and_grad(net_loss)(
        on_device(params, queue), on_device(x, queue)
    )
    assert list(gradient) == ["second", "first"]
    np.testing.assert_allclose(float(value), numpy_loss(params, x), rtol=1e-4)
    assert_near(gradient, expected)


def test_several_arguments_and_negative_numbers(queue, rng):
    params, x = random_params(rng), rng.standard_normal((5, 4))
    given = on_device(params, queue), on_device(x, queue)
    both = sycl_dnn.grad(net_loss, argnums=(0, -1))(*given)
    assert_near(both[0], differences(lambda p: numpy_loss(p, x), params))
    assert_near(both[1], differences(lambda v: numpy_loss(params, v), x))
    assert_near(sycl_dnn.grad(net_loss, argnums=1)(*given), dpnp.asnumpy(both[1]))


def test_auxiliary_results(queue):
    x = dpnp.arange(3, dtype="f4", sycl_queue=queue)

    def loss(x):
        y = x * 2
        return F.sum(F.square(y)), {"y": y, "n": 3, "name": "aux"}

    (value, aux), gradient = sycl_dnn.value_and_grad(loss, has_aux=True)(x)
    assert float(value) == 20
    assert (aux["n"], aux["name"], dpnp.asnumpy(aux["y"]).tolist()) == (3, "aux", [0, 2, 4])
    assert dpnp.asnumpy(gradient).tolist() == [0, 8, 16]
    gradient, aux = sycl_dnn.grad(loss, has_aux=True)(x)
    assert dpnp.asnumpy(gradient).tolist() == [0, 8, 16]
    assert dpnp.asnumpy(aux["y"]).tolist() == [0, 2, 4]
    with pytest.raises(
        TypeError, match="with has_aux the function must return a pair, got ndarray|Tensor"
    ):
        sycl_dnn.grad(lambda x: F.sum(x), has_aux=True)(x)


def test_data_classes_and_tuples(queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    gradient = sycl_dnn.grad(lambda n: F.sum(n.first["a"] * n.second[1]))(
        Net({"a": x * 2}, (x * 5, x * 3))
    )
    assert type(gradient) is Net
    assert dpnp.asnumpy(gradient.first["a"]).tolist() == [3, 3, 3]
    assert dpnp.asnumpy(gradient.second[1]).tolist() == [2, 2, 2]


def test_pullback_of_a_scalar_takes_a_number_or_nothing(queue):
    x = dpnp.arange(4, dtype="f4", sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(lambda x: F.sum(F.square(x)), x)
    one = dpnp.asnumpy(pullback()[0])
    assert one.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(dpnp.asnumpy(pullback(1.0)[0]), one)
    np.testing.assert_array_equal(dpnp.asnumpy(pullback(dpnp.ones_like(y))[0]), one)
    assert dpnp.asnumpy(pullback(-0.5)[0]).tolist() == [0, -1, -2, -3]
    _, pullback = sycl_dnn.vjp(F.relu, x)
    with pytest.raises(
        ValueError, match=r"dy must be an array of shape \(4,\); a number is accepted"
    ):
        pullback()


def test_arrays_of_other_libraries_are_named_with_their_package(queue):
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=queue)
    _, pullback = sycl_dnn.vjp(F.relu, x)
    words = "pullback: dy must be a dpnp.ndarray or Array, got numpy.ndarray"
    with pytest.raises(TypeError, match=words):
        pullback(np.ones((2, 3), "f4"))
    with pytest.raises(TypeError, match="dy has no values: call vjp in the same traced function"):
        sycl_dnn.grad(lambda dy: F.sum(pullback(dy)[0]))(x)
    with pytest.raises(TypeError, match=r"linear: weight must be .*, got fractions.Fraction"):
        F.linear(x, Fraction(1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.cat(None), r"cat: tensors must be a sequence of dpnp.ndarray, got NoneType"),
        (lambda: F.cat(3), r"cat: tensors must be a sequence of dpnp.ndarray, got int"),
        (lambda: F.stack(()), r"stack: tensors must hold at least one dpnp.ndarray, got \(\)"),
        (lambda: F.stack([None]), r"stack: tensors\[0\] must be a dpnp.ndarray, got NoneType"),
        (lambda: F.sort([1, 2]), r"sort: input must be a dpnp.ndarray, got list"),
        (lambda: F.relu(), r"relu: missing a required argument: 'input'"),
        (lambda: F.add(None, 2), r"add: input must be a dpnp.ndarray, got NoneType"),
        (lambda: F.add(1, 2), r"add: at least one argument must be a dpnp.ndarray"),
    ],
)
def test_calls_without_arrays_name_the_parameter(call, words):
    with pytest.raises(TypeError, match=f"^{words}$"):
        call()


def test_arrays_of_torch_are_refused_with_the_way_to_convert_them(queue):
    torch = pytest.importorskip("torch")
    words = "arrays must be dpnp.ndarray, got torch.Tensor; sycl_dnn.asarray copies it"
    for call in (F.relu, lambda x: F.cat([x, x]), F.sort):
        with pytest.raises(TypeError, match=words):
            call(torch.ones((2, 3)))
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=queue)
    with pytest.raises(TypeError, match=words):
        F.linear(x, torch.ones((2, 3)))


def test_vjp_of_dicts_and_of_results_in_dicts(queue):
    w, x = (dpnp.ones(s, dtype="f4", sycl_queue=queue) for s in ((4, 2), (3, 4)))

    def function(p, x):
        return {"y": F.matmul(x, p["w"]), "n": None}

    y, pullback = sycl_dnn.vjp(function, {"w": w}, x)
    assert list(y) == ["y", "n"]
    assert y["n"] is None
    gradient, dx = pullback({"y": y["y"], "n": None})
    assert dpnp.asnumpy(gradient["w"]).tolist() == [[12, 12]] * 4
    assert dpnp.asnumpy(dx).tolist() == [[8] * 4] * 3
    with pytest.raises(TypeError, match=r"dy must have the keys 'n', 'y', got 'y'"):
        pullback({"y": y["y"]})


def test_inside_compile_and_plan(queue, rng):
    params, x = random_params(rng), rng.standard_normal((5, 4))
    given = on_device(params, queue), on_device(x, queue)

    def step(params, x):
        value, gradient = sycl_dnn.value_and_grad(net_loss)(params, x)
        return value, sycl_dnn.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    expected = differences(lambda p: numpy_loss(p, x), params)
    moved = sycl_dnn.tree.map(lambda p, g: p - 0.1 * g, params, expected)
    assert_near(sycl_dnn.compile(step)(*given)[1], moved)
    assert_near(sycl_dnn.plan(step, *given)()[1], moved)


def test_errors_name_function_argument_and_path(queue):
    w = dpnp.ones((4, 2), dtype="f4", sycl_queue=queue)
    step = sycl_dnn.value_and_grad(lambda params, x: F.sum(params["conv1"]["weight"]))
    where = r'value_and_grad: params\["conv1"\]\["weight"\] must be '
    with pytest.raises(TypeError, match=where + "an array of floating-point numbers, got int64"):
        step({"conv1": {"weight": w.astype("i8")}}, w)
    with pytest.raises(TypeError, match=where + "an array of floating-point numbers, got ndarray"):
        step({"conv1": {"weight": np.ones(3, "f4")}}, w)
    with pytest.raises(
        TypeError, match=r"value_and_grad: x\[1\] must be a dpnp.ndarray, got numpy"
    ):
        step({"conv1": {"weight": w}}, [w, np.ones(3)])
    with pytest.raises(TypeError, match=r'<lambda>: p\["w"\] must be a dpnp.ndarray, got numpy'):
        sycl_dnn.compile(lambda p: p["w"])({"w": np.ones(3)})
    with pytest.raises(ValueError, match="argnums must name positional arguments of the call"):
        sycl_dnn.grad(lambda x: x, argnums=2)(w)
    with pytest.raises(ValueError, match=r"an array of one element, got shape \(4, 2\)"):
        sycl_dnn.grad(lambda x: x * 2)(w)
    with pytest.raises(TypeError, match="must return arrays, nested .* got object at result.0."):
        sycl_dnn.vjp(lambda x: [object()], w)


# --- Inner functions that capture a traced value of the enclosing function


def held_by_vjp(x, w):
    y, pullback = sycl_dnn.vjp(lambda a: F.sum(a * a * w), x)
    (slope,) = pullback()
    return F.sum(slope * slope * w) + y


def held_at_two_levels(x, w):
    def middle(v):
        return F.sum(sycl_dnn.grad(lambda a: F.sum(a * a * w * v))(x) * v)

    return F.sum(sycl_dnn.grad(middle)(x) * w)


def held_by_compile(x, w):
    return F.sum(sycl_dnn.compile(lambda a: a * a * w)(x) * w)


def nothing_but_what_is_held(x, w):
    y, pullback = sycl_dnn.vjp(lambda a: w * w, x)
    return F.sum(y) + F.sum(pullback(y)[0])


HELD = {
    held_by_vjp: (lambda x, w: 4 * x**2 * w**3 + x**2 * w, lambda x, w: 12 * x**2 * w**2 + x**2),
    held_at_two_levels: (lambda x, w: 4 * x**2 * w**2, lambda x, w: 8 * x**2 * w),
    held_by_compile: (lambda x, w: x**2 * w**2, lambda x, w: 2 * x**2 * w),
    nothing_but_what_is_held: (lambda x, w: w**2, lambda x, w: 2 * w),
}


@pytest.mark.parametrize("function", HELD, ids=lambda f: f.__name__)
def test_inner_functions_that_capture_a_traced_value(queue, function):
    x, w = np.array([1.0, 2, 3]), np.array([2.0, 3, 4])
    value, gradient = (f(x, w) for f in HELD[function])
    gx, gw = (dpnp.asarray(a, dtype="f4", sycl_queue=queue) for a in (x, w))

    def outer(w):
        return function(gx, w)

    actual, slope = sycl_dnn.value_and_grad(outer)(gw)
    assert_near(actual, np.float64(value.sum()))
    assert_near(slope, gradient)
    assert_near(sycl_dnn.compile(outer)(gw), np.float64(value.sum()))
    assert_near(sycl_dnn.compile(sycl_dnn.grad(outer))(gw), gradient)
    # Without the enclosing trace, the same code runs by itself.
    assert_near(outer(gw), np.float64(value.sum()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("steps", ["DD", "DMD", "DDD", "DMDD", "DDMD", "DMDMD"])
@pytest.mark.sweep(4)
def test_gradients_of_gradients_multiplied_by_x(steps, dtype, queue):
    """D is the gradient of the sum, M the product with x; the start is a product of x's."""
    wide_dtypes.need(dtype, queue)
    x = dpnp.asarray([1.0, 2.0, -1.5], dtype=dtype, sycl_queue=queue)
    for exponent in (2, 3):
        function, factor, power = (lambda x: x * x) if exponent == 2 else _cube, 1, exponent
        for step in steps:
            function = _derived(function) if step == "D" else _multiplied(function)
            factor, power = (factor * power, power - 1) if step == "D" else (factor, power + 1)
        for call in (function, sycl_dnn.compile(function)):
            expected = factor * x**power if factor else 0 * x
            np.testing.assert_allclose(dpnp.asnumpy(call(x)), dpnp.asnumpy(expected), rtol=1e-5)


def _cube(x):
    return x * x * x


def _derived(function):
    return sycl_dnn.grad(lambda x: F.sum(function(x)))


def _multiplied(function):
    return lambda x: function(x) * x
