# SPDX-License-Identifier: Apache-2.0
"""Element-wise kernels as operations of a host task: each operation, layouts, what is left."""

import dpnp
import numpy as np
import pytest
from host_steps import compared

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host tasks are for CPUs

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-41, 88.0, -3.5]


def _compared(function, *args):
    """Compare with oneDNN and compiled kernels; return the implementations of a profile."""
    compared(function, *args, rtol=2e-6, is_scaled=False)
    compiled = sycl_dnn.compile(function)
    compiled(*args)
    with sycl_dnn.profile(wait=True) as profile:
        compiled(*args)
    return [record.implementation for record in profile.records]


OPERATIONS = {
    "sums": lambda x, y: F.where(x + y > x - y, x * y, -(x / y)),
    "extremes": lambda x, y: F.maximum(x, y) + F.minimum(x, y) * 0.37,
    "powers": lambda x, y: x**2 + 1 / y + abs(x * y),
    "functions": lambda x, y: F.exp(x) + F.sigmoid(y) - F.tanh(x - y),
    "comparisons": lambda x, y: F.where((x >= y) & (x != 1), x, F.where(x == y, y, x + 3)),
    "logic": lambda x, y: F.where(~((x < y) | (y <= 1)), x, y * 7),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_special_values(name, on_queue):
    x, y = np.meshgrid(np.array(SPECIAL, "f4"), np.array(SPECIAL, "f4"))
    w = on_queue(4, 10)

    def function(x, y):
        z = OPERATIONS[name](x, y)
        finite = F.where(abs(z) <= 1e6, z, 0.0)  # NaN of one element would be that of a row
        return F.cat([z, F.linear(finite, w) * 0 + finite[:, :4]], 1)

    arrays = [dpnp.asarray(array, sycl_queue=w.sycl_queue) for array in (x, y)]
    implementations = _compared(function, *arrays)
    assert {text[:4] for text in implementations} == {"host"}


@pytest.mark.parametrize("shape", [(1, 24, 9, 9), (3, 5, 2, 7), (1, 300, 3, 3), (1, 1, 40, 33)])
def test_rows_that_repeat(shape, on_queue):
    n = shape[1]
    w, scale, shift = on_queue(n, n, 1, 1) / n, on_queue(n, 1, 1), on_queue(n, 1, 1)
    row, image = on_queue(shape[3]), on_queue(*shape)

    def function(x):
        y = F.relu(F.conv2d(x, w) * scale / abs(shift) + shift)
        z = y * row
        return F.conv2d(F.maximum(z, image) - y, w)

    implementations = _compared(function, on_queue(*shape))
    assert {text[:4] for text in implementations} == {"host"}


@pytest.mark.parametrize("steps", [(2, 1), (1, 3), (2, 2)])
def test_views_with_steps(steps, on_queue):
    w = on_queue(12, 12)

    def function(x):
        y = F.linear(x[:: steps[0], :: steps[1]], w)
        return F.linear(F.relu(y * x[steps[0] - 1 :: steps[0], steps[1] - 1 :: steps[1]] - y), w)

    _compared(function, on_queue(9 * steps[0], 12 * steps[1]))


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, 2, 0), (3, 1, 1), ((1, 4), 3, 0)])
def test_averages_of_windows(kernel, stride, padding, count_include_pad, on_queue):
    w = on_queue(7, 7, 1, 1)

    def function(x):
        y = F.avg_pool2d(F.conv2d(x, w), kernel, stride, padding, False, count_include_pad)
        return F.conv2d(F.relu(y), w)

    implementations = _compared(function, on_queue(2, 7, 9, 11))
    assert {text[:4] for text in implementations} == {"host"}


def test_large_kernels_are_launched(on_queue):
    w = on_queue(8, 8)

    def function(x):
        y = F.linear(x, w)
        return F.linear(F.where(y > x, y * x, x), w)

    assert "opencl" in _compared(function, on_queue(1 << 17, 8))


FUNCTIONS = {
    "exp": F.exp, "expm1": F.expm1, "log": F.log, "log1p": F.log1p, "sqrt": F.sqrt,
    # Kernels: alone, these are primitives.
    "sigmoid": lambda x: F.where(x < 30, F.sigmoid(x), x),
    "tanh": lambda x: F.where(x < 30, F.tanh(x), x),
    "reciprocal": lambda x: 1 / x, "div": lambda x: x / (x + 3),
    "sum of products": lambda x: x * (x + 1) + x * 0.37,
}  # fmt: skip
#: Values of a call, which the host computes, and of all calls.
_AT_ONCE, _ALL = 3_000, 1_000_000


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_kernels_to_the_last_bit(name, on_queue):
    w, rng = on_queue(4, 4), np.random.default_rng(7)

    def function(x, w):
        return FUNCTIONS[name](x), F.linear(w, w)

    of_host = sycl_dnn.compile(function)
    of_kernel = sycl_dnn.compile(function, passes={"run_on_host": False})
    any_bits = rng.integers(0, 1 << 32, _ALL // 2, dtype=np.uint32).view("f4")
    values = np.concatenate([any_bits, rng.normal(0, 4, _ALL // 2).astype("f4")])
    rng.shuffle(values)
    for first in range(0, _ALL - _AT_ONCE, _AT_ONCE):
        x = dpnp.asarray(values[first : first + _AT_ONCE], sycl_queue=w.sycl_queue)
        result, expected = (dpnp.asnumpy(f(x, w)[0]) for f in (of_host, of_kernel))
        is_equal = result.view("i4") == expected.view("i4")
        different = ~(is_equal | (np.isnan(result) & np.isnan(expected)))
        assert not different.any(), (values[first:][: len(result)][different][:5], first)
    report = of_host.explain(x, w)
    assert report.n_steps == 1
