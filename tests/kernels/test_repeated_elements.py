# SPDX-License-Identifier: Apache-2.0
"""Kernels that read few elements in place of an array that repeats them."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

SHAPE = (512, 1024)


def _drawn(on_queue, shape=SHAPE):
    values = np.random.default_rng(3).standard_normal(shape, dtype=np.float32)
    return values, on_queue(values)


def _kernels_of(call):
    with sycl_dnn.profile() as p:
        result = call()
    return result, [r.name for r in p.records]


@pytest.mark.parametrize(
    ("reduced", "slope", "n_steps"),
    [
        (lambda y: F.sum(y), lambda c: c, 1),
        (lambda y: F.mean(y), lambda c: c / c.size, 2),
        (lambda y: F.sum(F.exp(F.sum(y, -1) * 0)), lambda c: c * 0, 3),
        (lambda y: F.sum(F.mean(y, 0)), lambda c: c / len(c), 3),
    ],
    ids=["sum", "mean", "rows", "columns"],
)
def test_gradients_of_sums_are_not_written(on_queue, reduced, slope, n_steps):
    values, x = _drawn(on_queue)
    _, pullback = sycl_dnn.vjp(lambda x: reduced(F.sin(x)), x)
    (dx,), names = _kernels_of(pullback)
    assert len(names) <= n_steps
    expected = slope(np.cos(values.astype(np.float64)))
    np.testing.assert_allclose(dpnp.asnumpy(dx), expected, rtol=2e-6, atol=1e-7)
    assert dx.flags.c_contiguous


def test_gradients_that_are_results_are_written(on_queue):
    _, x = _drawn(on_queue)
    _, pullback = sycl_dnn.vjp(lambda x: F.sum(x) + F.mean(F.sin(x) * 0), x)
    (dx,) = pullback()
    dx *= 2.0
    assert (dpnp.asnumpy(dx) == 2).all()


def test_products_read_the_number(on_queue):
    values, x = _drawn(on_queue)
    _, w = _drawn(on_queue, SHAPE[-1:])
    _, pullback = sycl_dnn.vjp(lambda x, w: F.sum(x * x * w), x, w)
    dx, dw = pullback()
    np.testing.assert_allclose(dpnp.asnumpy(dx), 2 * values * dpnp.asnumpy(w), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dpnp.asnumpy(dw), (values**2).sum(0), rtol=1e-5)


def test_second_derivatives(on_queue):
    values, x = _drawn(on_queue)
    first = sycl_dnn.grad(lambda x: F.sum(F.sin(x)))
    dx = sycl_dnn.grad(lambda x: F.sum(first(x) * F.mean(x)))(x)
    expected = -np.sin(values) * values.mean() + np.cos(values).mean()
    np.testing.assert_allclose(dpnp.asnumpy(dx), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "transform",
    [lambda f: lambda *a: sycl_dnn.vjp(f, *a)[0], sycl_dnn.compile],
    ids=["vjp", "compile"],
)
def test_an_array_that_is_overwritten_before_its_repetition_is_read(on_queue, transform):
    values, x = _drawn(on_queue)
    mean, variance = (on_queue(np.full(SHAPE[1], v, np.float32)) for v in (2, 1))

    def step(x, mean, variance):
        repeated = F.broadcast_to(mean, x.shape)
        F.batch_norm(x + 5.0, mean, variance, training=True)
        return F.cos(repeated) * F.sin(x)

    result = dpnp.asnumpy(transform(step)(x, mean, variance))
    assert abs(dpnp.asnumpy(mean) - 2).max() > 0.1
    np.testing.assert_allclose(result, np.sin(values) * np.cos(2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 6), (1, 1, 24, 1)])
def test_an_array_that_was_only_given_an_axis_repeats_nothing(on_queue, shape):
    """Its view with another axis has the same memory."""
    values, x = _drawn(on_queue, shape)

    def step(x):
        wide = F.expand(x, (1, *shape))
        return F.cosine_similarity(x, F.sin(x), -2) + 0 * F.sum(wide), F.sum(F.cos(wide) + x)

    norms = [np.sqrt((v * v).sum(-2)) for v in (values, np.sin(values))]
    cosine = (values * np.sin(values)).sum(-2) / (norms[0] * norms[1])
    for call in (lambda: sycl_dnn.plan(step, x)(), lambda: sycl_dnn.vjp(step, x)[0]):
        np.testing.assert_allclose(dpnp.asnumpy(call()[0]), cosine, rtol=1e-5, atol=1e-6)
    slope = sycl_dnn.grad(lambda x: step(x)[1])(x)
    np.testing.assert_allclose(dpnp.asnumpy(slope), 1 - np.sin(values), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["replicate", "reflect"])
def test_arrays_that_repeat_elements_in_part_are_read_whole(on_queue, mode):
    """The gradient of the gradient of a border joins an array and repetitions of its border."""
    slope = sycl_dnn.grad(lambda x: (F.pad(x, (0, 2), mode) ** 2).sum())
    x = on_queue(np.arange(1, 4, dtype="f4")[None])
    factors = {"replicate": [2, 2, 6], "reflect": [4, 4, 2]}[mode]
    first, second = slope(x), sycl_dnn.grad(lambda x: (slope(x) ** 2).sum())(x)
    values, factors = np.arange(1, 4.0), np.array(factors)
    np.testing.assert_array_equal(dpnp.asnumpy(first)[0], factors * values)
    np.testing.assert_array_equal(dpnp.asnumpy(second)[0], 2 * factors**2 * values)
