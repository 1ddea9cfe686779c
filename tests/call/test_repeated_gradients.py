# SPDX-License-Identifier: Apache-2.0
"""Repeated calls of ``vjp``, pullbacks and ``value_and_grad`` that bypass Python."""

import gc
import weakref

import dpctl
import dpnp
import numpy as np
import pytest
from repeated_calls import array, taken

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.capabilities import multiplies

pytestmark = pytest.mark.usefixtures("clean_cache")


def both(function, *args, dy=None):
    """Return the values of a result and of its gradients."""
    y, pullback = sycl_dnn.vjp(function, *args)
    grads = pullback(y if dy is None else dy)
    return [dpnp.asnumpy(y), *(dpnp.asnumpy(g) for g in grads if g is not None)]


@pytest.mark.parametrize(
    "function",
    [F.relu, F.exp, lambda x: F.mul(x, x), lambda x: F.softmax(F.cat([F.exp(x), x]), dim=0)],
    ids=["relu", "exp", "user", "two steps"],
)
def test_the_second_vjp_takes_the_fast_path(queue, function):
    x = array(queue, 3, 4, value=0.5)
    long = both(function, x)
    short, hits = taken(lambda: both(function, x))
    assert hits == 1
    for a, b in zip(long, short, strict=True):
        np.testing.assert_array_equal(a, b)
    other = array(queue, 3, 4, value=-0.25)
    assert not np.array_equal(both(function, other)[0], long[0])


def square(x, w):
    return F.mul(F.mul(x, x), w)


def test_several_arguments_and_layouts_of_dy(queue):
    x, w = array(queue, 2, 3, value=3.0), array(queue, 2, 3, value=2.0)
    for dy in (array(queue, 2, 3), array(queue, 3, 2).T, array(queue, 2, 6)[:, ::2]):
        for _ in range(3):
            y, gx, gw = both(square, x, w, dy=dy)
            assert (y == 18).all()
            assert (gx == 12).all()
            assert (gw == 9).all()


def test_results_that_are_slices_are_dense_and_take_dy_in_any_layout(queue):
    """Of 18 in 24 numbers, whose span of bytes is a multiple of their number."""
    y, pullback = sycl_dnn.vjp(lambda x: F.softmax(x, 1)[:, 6:], array(queue, 4, 24))
    assert y.strides == (72, 4)
    expected = np.where(np.arange(24) < 6, -0.75, 0.25) / 24
    for dy in (array(queue, 4, 18), array(queue, 18, 4).T, array(queue, 4, 24)[:, 6:]):
        np.testing.assert_allclose(dpnp.asnumpy(pullback(dy)[0]), [expected] * 4, atol=1e-6)


def test_a_pullback_may_be_called_again_later(queue):
    pullbacks = [sycl_dnn.vjp(F.exp, array(queue, 4, value=float(i)))[1] for i in range(4)]
    dy = array(queue, 4)
    for _ in range(2):
        for i, pullback in enumerate(pullbacks):
            np.testing.assert_allclose(dpnp.asnumpy(pullback(dy)[0]), np.exp(i), rtol=1e-5)


def test_a_wrong_dy_is_refused_again(queue):
    _, pullback = sycl_dnn.vjp(F.relu, array(queue, 4))
    pullback(array(queue, 4))
    pullback(array(queue, 4))
    for wrong in (array(queue, 5), array(queue, 4).astype("i4"), 1.0):
        with pytest.raises(ValueError, match="dy must"):
            pullback(wrong)
    elsewhere = array(dpctl.SyclQueue(queue.sycl_device), 4)
    for _ in range(2):
        with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
            pullback(elsewhere)


W = None


def scaled(x):
    return F.mul(x, W)


def test_captured_arrays_are_read_at_each_call(queue):
    global W
    x = array(queue, 4, value=2.0)
    for value in (1.0, 2.0, 3.0, 4.0):
        W = array(queue, 4, value=value)
        y, g = both(scaled, x, dy=array(queue, 4))
        assert (y == 2 * value).all()
        assert (g == value).all()
    _, hits = taken(lambda: both(scaled, x))
    assert hits == 1
    W = array(queue, 1, value=5.0)  # another shape: another plan
    result, hits = taken(lambda: both(scaled, x))
    assert hits == 0
    assert (result[0] == 10).all()
    W = array(dpctl.SyclQueue(queue.sycl_device), 1)
    for _ in range(2):
        with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
            both(scaled, x)


@pytest.mark.slow
def test_a_new_function_at_each_step_keeps_nothing_alive(queue):
    x = array(queue, 4)
    dropped = []
    for _ in range(3):
        held = array(queue, 4)
        _, pullback = sycl_dnn.vjp(lambda x, held=held: F.mul(x, held), x)
        pullback(x)
        dropped.append(weakref.ref(held.get_array()))
    del held, pullback
    sycl_dnn.synchronize(queue)
    F.relu(x)
    sycl_dnn.onednn.Stream(sycl_dnn.onednn.Engine(queue), queue).wait()
    gc.collect()
    assert not any(ref() for ref in dropped)


def test_frozen_arguments_and_their_packed_copies(queue):
    x = array(queue, 1, 8, 9, 9)
    for value in (1.0, 2.0, 1.0):
        w = sycl_dnn.freeze(array(queue, 8, 8, 3, 3, value=value))
        for _ in range(3):
            y, pullback = sycl_dnn.vjp(F.conv2d, x, w)
            gx, gw = pullback(array(queue, *y.shape))
            assert float(y.max()) == 72 * value
            assert float(gx.max()) == 72 * value
            assert float(gw.max()) == 49


def test_results_that_are_arguments_are_returned_unchanged(queue):
    def function(x, aux):
        return F.relu(x), aux

    x, aux = array(queue, 4), array(queue, 4)
    for _ in range(3):
        (y, same), pullback = sycl_dnn.vjp(function, x, aux)
        assert same is aux
        gx, ga = pullback((y, aux))
        assert dpnp.asnumpy(gx + ga).tolist() == [2] * 4


def test_gradients_of_the_number_one_are_not_shared(queue):
    gradient = sycl_dnn.grad(lambda x: x.reshape(()))
    x = array(queue, 1)
    for _ in range(4):
        g = gradient(x)
        assert float(g[0]) == 1
        g *= 5


def test_value_and_grad_raises_at_each_call(queue):
    x = array(queue, 3)
    for _ in range(3):
        with pytest.raises(ValueError, match="must return an array of one element"):
            sycl_dnn.value_and_grad(F.relu)(x)
        with pytest.raises(TypeError, match="must be an array of floating-point"):
            sycl_dnn.grad(F.sum)(dpnp.ones(3, dtype="i4", sycl_queue=queue))


def test_bfloat16_arguments(queue):
    x = sycl_dnn.asarray(np.arange(-2.0, 3.0, dtype="f4"), "bfloat16", sycl_queue=queue)
    for _ in range(3):
        y, pullback = sycl_dnn.vjp(F.relu, x)
        (g,) = pullback(y)
        assert (y.dtype, g.dtype) == ("bfloat16", "bfloat16")
        assert dpnp.asnumpy(g.astype("float32")).tolist() == [0, 0, 0, 1, 2]


def test_autocast_regions_have_separate_plans(queue):
    x, w = array(queue, 4, 4), array(queue, 4, 4)
    narrow = "bfloat16" if multiplies(place_of(queue)[0].engine, "bfloat16") else "float32"
    for _ in range(3):
        assert sycl_dnn.vjp(F.matmul, x, w)[0].dtype == np.float32
        with sycl_dnn.autocast("bfloat16"):
            y, pullback = sycl_dnn.vjp(F.matmul, x, w)
        assert y.dtype == narrow
        assert pullback(y)[0].dtype == np.float32
    with sycl_dnn.autocast("bfloat16"):
        _, hits = taken(lambda: sycl_dnn.vjp(F.matmul, x, w))
    assert hits == 1
