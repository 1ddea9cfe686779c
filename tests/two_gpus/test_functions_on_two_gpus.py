# SPDX-License-Identifier: Apache-2.0
"""Functions, gradients, compiled functions and modules on two GPUs in one process."""

import warnings

import dpnp
import numpy as np
import pytest
from dpnp.exceptions import ExecutionPlacementError
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.device import executes_on_cpu


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def on(queue, *arrays):
    matches = [dpnp.asarray(a, sycl_queue=queue) for a in arrays]
    return matches[0] if len(matches) == 1 else matches


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normalized(x):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def check(result, queue, expected):
    assert result.sycl_queue == queue
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_two_devices_share_a_context(queues):
    first, second = queues
    assert first.sycl_context == second.sycl_context
    assert first.sycl_device != second.sycl_device
    assert first.sycl_device.name == second.sycl_device.name
    for number, queue in enumerate(queues):
        found = sycl_dnn.default_queue(f"opencl:gpu:{number}")
        assert found.sycl_device == queue.sycl_device
    assert sycl_dnn.default_queue().sycl_device == first.sycl_device


def test_calls_by_turns(queues):
    """One plan of each device serves: the same shapes, other values each time."""
    for turn in range(6):
        for number, queue in enumerate(queues):
            x, w = values(4, 8, seed=turn + 10 * number), values(6, 8, seed=turn)
            a, b = on(queue, x, w)
            check(F.linear(a, b), queue, x @ w.T)
            check(F.softmax(a, 1), queue, softmax(x))
            check(F.relu(a), queue, np.maximum(x, 0))


def test_images_and_batches_of_them(queues):
    """A convolution, and the package's own kernels for normalization of channels."""
    x, w = values(2, 4, 6, 6), values(4, 4, 1, 1, seed=1)
    expected = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0])
    mean, var = expected.mean((0, 2, 3), keepdims=True), expected.var((0, 2, 3), keepdims=True)
    for queue in queues:
        actual = F.conv2d(*on(queue, x, w))
        check(actual, queue, expected)
        check(
            F.batch_norm(actual, *on(queue, np.zeros(4, "f4"), np.ones(4, "f4")), training=True),
            queue,
            (expected - mean) / np.sqrt(var + 1e-5),
        )


def test_gradients(queues):
    x, w, g = values(4, 8), values(6, 8, seed=1), values(4, 6, seed=2)
    for queue in queues:
        a, b, c = on(queue, x, w, g)
        result, pullback = sycl_dnn.vjp(F.linear, a, b)
        check(result, queue, x @ w.T)
        for actual, expected in zip(pullback(c)[:2], (g @ w, g.T @ x), strict=True):
            check(actual, queue, expected)


def test_arrays_of_two_gpus_are_refused_by_name(queues):
    x, w = on(queues[0], values(4, 8)), on(queues[1], values(6, 8))
    names = [queue.sycl_device.filter_string for queue in queues]
    with pytest.raises(ExecutionPlacementError, match=r"linear: arrays must share one queue") as e:
        F.linear(x, w)
    assert all(name in str(e.value) for name in names)
    with pytest.raises(ExecutionPlacementError, match="arrays must share one queue"):
        sycl_dnn.compile(F.linear)(x, w)
    with pytest.raises(ExecutionPlacementError):
        F.relu(x, out=on(queues[1], values(4, 8)))
    check(F.linear(x, w.to_device(queues[0])), queues[0], values(4, 8) @ values(6, 8).T)


def test_a_compiled_function_on_each(queues):
    @sycl_dnn.compile
    def layer(x, w):
        return F.softmax(F.relu(F.linear(x, w)), 1)

    for turn in range(3):
        for queue in queues:
            x, w = values(4, 8, seed=turn), values(6, 8, seed=9)
            check(layer(*on(queue, x, w)), queue, softmax(np.maximum(x @ w.T, 0)))


def test_compiled_function_holds_arrays_of_one_gpu(queues):
    w = on(queues[0], values(6, 8))
    layer = sycl_dnn.compile(lambda x: F.linear(x, w))
    x = values(4, 8)
    check(layer(on(queues[0], x)), queues[0], x @ values(6, 8).T)
    with pytest.raises(ExecutionPlacementError):
        layer(on(queues[1], x))


def test_a_module_moves(queues):
    x = values(4, 8)
    layer = nn.Linear(8, 6).to(queues[0])
    expected = layer(on(queues[0], x)).asnumpy()
    layer.to(queues[1])
    check(layer(on(queues[1], x)), queues[1], expected)
    with pytest.raises(ExecutionPlacementError):
        layer(on(queues[0], x))


def test_gpu_fallbacks_return_results_to_the_device(queues):
    """oneDNN's copy of this view is wrong where the GPU is the CPU: the CPU itself takes over."""
    x = values(6, 32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for queue in queues:
            check(F.relu(on(queue, x)[:, ::2]), queue, np.maximum(x[:, ::2], 0))
            check(F.layer_norm(on(queue, x)[:, ::2], (16,)), queue, normalized(x[:, ::2]))
    fell_back = any(issubclass(w.category, sycl_dnn.FallbackWarning) for w in caught)
    assert fell_back == executes_on_cpu(queues[0].sycl_device)


def test_a_thread_for_each(queues):
    def work(number):
        queue = queues[number % 2]
        for turn in range(10):
            x, w = values(4, 8, seed=turn), values(6, 8, seed=number)
            check(F.relu(F.linear(*on(queue, x, w))), queue, np.maximum(x @ w.T, 0))

    in_threads(4, work)
