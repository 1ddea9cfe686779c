# SPDX-License-Identifier: Apache-2.0
"""Fallback to the CPU for arrays of a device that lacks an operation."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call import cpu_fallback
from sycl_dnn.call.operation import UserFunction
from sycl_dnn.call.reverse import vjp
from sycl_dnn.trace.steps import NeedsAnotherDevice


@pytest.fixture
def lack(monkeypatch):
    """Let a CPU device stand in for one that lacks something, without a warning."""
    monkeypatch.setattr(cpu_fallback, "_announce", lambda *about: None)
    return NeedsAnotherDevice("row", sycl_dnn.Unimplemented.__new__(sycl_dnn.Unimplemented))


def _arguments(dtype, queue):
    rng = np.random.default_rng(0)
    shapes = [(4, 5, 9), (5,), (5,)]
    return [to_device(rng.uniform(0.5, 2, s), dtype, queue) for s in shapes]


def _averaged(x, mean, var, momentum):
    count = x.size // x.shape[1]
    new = x.mean(axis=(0, 2)), x.var(axis=(0, 2)) * count / (count - 1)
    return [(1 - momentum) * o + momentum * n for o, n in zip((mean, var), new, strict=True)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("by_name", [False, True])
def test_updates_are_written_to_the_arrays_of_the_caller(dtype, by_name, lack, queue):
    x, mean, var = _arguments(dtype, queue)
    expected = _averaged(*map(to_numpy, (x, mean, var)), 0.3)
    args = (x,) if by_name else (x, mean, var)
    kwargs = {"training": True, "momentum": 0.3}
    kwargs |= {"running_mean": mean, "running_var": var} if by_name else {}
    operation = F.batch_norm.operation
    y = cpu_fallback.run_on_cpu(operation, lack, queue, args, kwargs, None)
    for actual, truth in zip((mean, var), expected, strict=True):
        np.testing.assert_allclose(
            to_numpy(actual), truth, rtol=1e-5 if dtype == "float32" else 1e-2
        )
    assert y.sycl_queue == queue
    again = _averaged(to_numpy(x), to_numpy(mean), to_numpy(var), 0.3)
    cpu_fallback.run_on_cpu(operation, lack, queue, args, kwargs, None)
    np.testing.assert_allclose(to_numpy(mean), again[0], rtol=1e-5 if dtype == "float32" else 1e-2)


def test_updates_with_a_gradient(lack, queue):
    x, mean, var = _arguments("float32", queue)
    expected = _averaged(*map(to_numpy, (x, mean, var)), 0.1)

    def both(x, mean, var):
        return F.relu(F.batch_norm(x, mean, var, training=True))

    args, subject = (x, mean, var), UserFunction(both)
    y, pullback = cpu_fallback.vjp_on_cpu(vjp, both, subject, lack, queue, args, {})
    for actual, truth in zip((mean, var), expected, strict=True):
        np.testing.assert_allclose(to_numpy(actual), truth, rtol=1e-5)
    assert pullback(dpnp.ones_like(y))[0].shape == x.shape


def test_other_arrays_are_not_written(lack, queue):
    x, mean, var = _arguments("float32", queue)
    before = [to_numpy(a) for a in (x, mean, var)]
    cpu_fallback.run_on_cpu(F.batch_norm.operation, lack, queue, (x, mean, var), {}, None)
    for array, old in zip((x, mean, var), before, strict=True):
        np.testing.assert_array_equal(to_numpy(array), old)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_out(dtype, lack, queue):
    x, mean, var = _arguments(dtype, queue)
    y = F.zeros_like(x)
    result = cpu_fallback.run_on_cpu(F.batch_norm.operation, lack, queue, (x, mean, var), {}, y)
    assert result is y
    np.testing.assert_allclose(to_numpy(y), to_numpy(F.batch_norm(x, mean, var)), rtol=1e-6)


def test_the_pullback_of_a_number_takes_no_argument(lack, queue):
    x = _arguments("float32", queue)[0]
    loss = lambda a: F.sum(F.square(a))  # noqa: E731
    _, pullback = cpu_fallback.vjp_on_cpu(vjp, loss, UserFunction(loss), lack, queue, (x,), {})
    np.testing.assert_allclose(to_numpy(pullback()[0]), 2 * to_numpy(x), rtol=1e-6)
