# SPDX-License-Identifier: Apache-2.0

import dpctl
import dpnp
import numpy as np
import pytest
from in_threads import in_a_thread, in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


def linear(x, w, b):
    return dpnp.asnumpy(x) @ dpnp.asnumpy(w).T + dpnp.asnumpy(b)


def test_a_plan_writes_to_out(make):
    x, w, b, y = make(5, 16), make(7, 16), make(7), make(5, 7)
    plan = sycl_dnn.plan(F.linear, x, w, b, out=y)
    assert plan() is y
    np.testing.assert_allclose(dpnp.asnumpy(y), linear(x, w, b), atol=1e-5)


def test_rebind_replaces_the_input_and_repacks_weights(make):
    x, w, b = make(2, 3, 8, 8), make(4, 3, 3, 3), make(4)
    plan = sycl_dnn.plan(F.conv2d, x, w, b, constants="weight")
    before = dpnp.asnumpy(plan()).copy()
    w[...] = -w
    b[...] = -b
    plan.rebind(weight=w)
    np.testing.assert_allclose(dpnp.asnumpy(plan()), -before, atol=1e-5)


def test_rebind_refuses_another_shape_and_keeps_the_old_arrays(make):
    x, w, b = make(5, 16), make(7, 16), make(7)
    plan = sycl_dnn.plan(F.linear, x, w, b, constants="weight")
    with pytest.raises(ValueError, match="input must have shape"):
        plan.rebind(input=make(6, 16))
    with pytest.raises(TypeError, match="'colour'"):
        plan.rebind(colour=x)
    np.testing.assert_allclose(dpnp.asnumpy(plan()), linear(x, w, b), atol=1e-5)


def test_submit_runs_plans_in_order(make):
    x, w, b = make(5, 16), make(16, 16), make(16)
    first = sycl_dnn.plan(F.linear, x, w, b, constants="weight")
    second = sycl_dnn.plan(F.relu, first.result)
    third = sycl_dnn.plan(F.linear, second.result, w, b)
    sycl_dnn.submit([first, second, third])
    hidden = np.maximum(linear(x, w, b), 0)
    expected = hidden @ dpnp.asnumpy(w).T + dpnp.asnumpy(b)
    np.testing.assert_allclose(dpnp.asnumpy(third.result), expected, atol=1e-4)


def test_submit_refuses_two_queues(make, queue):
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    a = sycl_dnn.plan(F.relu, make(4))
    b = sycl_dnn.plan(F.relu, dpnp.zeros(4, dtype="f4", sycl_queue=other))
    with pytest.raises(ValueError, match="one queue"):
        sycl_dnn.submit([a, b])


def test_one_plan_called_from_eight_threads(make):
    x, w, b = make(64, 64), make(64, 64), make(64)
    plan = sycl_dnn.plan(F.linear, x, w, b, constants="weight")
    expected = linear(x, w, b)
    in_threads(8, lambda _: [plan() for _ in range(50)])
    np.testing.assert_allclose(dpnp.asnumpy(plan()), expected, atol=1e-4)


def test_arrays_of_a_plan_may_be_dropped(make):
    x, w, b = make(5, 16), make(7, 16), make(7)
    expected = linear(x, w, b)
    plan = sycl_dnn.plan(F.linear, x, w, b, constants="weight")
    del x, w, b
    np.testing.assert_allclose(dpnp.asnumpy(plan()), expected, atol=1e-5)


def test_weights_that_another_thread_loads_while_a_call_is_bound_are_bound_next():
    layer, x = nn.Linear(3, 2), F.ones(4, 3)
    loaded = {name: array + 1 for name, array in layer.state_dict().items()}
    waiting = [lambda: layer.load_state_dict(loaded)]

    def f(x):
        y = layer(x)
        while waiting:
            in_a_thread(waiting.pop())
        return y

    bound = sycl_dnn.plan(f, x)
    for _ in range(2):
        assert dpnp.allclose(bound(), layer(x))
