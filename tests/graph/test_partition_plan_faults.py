# SPDX-License-Identifier: Apache-2.0
"""Workarounds for oneDNN's bugs inside partitions give correct results."""

import dpnp
import numpy as np
import pytest
from fresh_process import output

from sycl_dnn.graph import Graph


def _pooled(x, name):
    windows = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2)
    return windows.max((3, 5)) if name == "max_pool" else windows.mean((3, 5))


@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("channels", [3, 8, 16, 24])
@pytest.mark.parametrize("data_format", ["NCX", "NXC"])
@pytest.mark.parametrize("operation", ["add", "multiply", "maximum"])
@pytest.mark.sweep(4)
def test_a_post_op_operand_of_the_pooled_shape(name, channels, data_format, operation, queue, kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, channels, 12, 12), "f4")
    other = rng.standard_normal((2, channels, 6, 6), "f4")
    expected = getattr(np, operation)(_pooled(x, name), other)
    if data_format == "NXC":
        x, other, expected = (np.moveaxis(a, 1, -1).copy() for a in (x, other, expected))
    g = Graph(kind, data_format=data_format)
    pads = {"strides": (2, 2), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2)}
    pads |= {"exclude_pad": False} if name == "avg_pool" else {}
    pool = getattr(g, name)(g.input(x.shape, name="x"), **pads)
    getattr(g, operation)(pool, g.input(other.shape, name="other"), name="y")
    compiled = g.compile(queue)
    on_device = {"x": x, "other": other}
    y = compiled(**{n: dpnp.asarray(a, sycl_queue=queue) for n, a in on_device.items()})
    if kind == "cpu":
        np.testing.assert_allclose(dpnp.asnumpy(y), expected, rtol=1e-5, atol=1e-6)


SCALES = """
import threading
import dpnp, numpy as np, sycl_dnn
from sycl_dnn.graph import Graph
queue = sycl_dnn.default_queue("cpu")
def dequantized(dtype, scales, zps, qtype):
    g = Graph("cpu")
    x = g.input((4, 3), dtype, name="x")
    axis = {"axis": 1} if qtype == "per_channel" else {}
    g.dequantize(x, scales=scales, zps=zps, qtype=qtype, name="y", **axis)
    return g.compile(queue)
first = dequantized("u8", (0.1, 0.05, 0.2), (0, 0, 0), "per_channel")
second = dequantized("s8", (0.02,), (3,), "per_tensor")
values = np.arange(12).reshape(4, 3)
u = dpnp.asarray(values.astype("u1"), sycl_queue=queue)
s = dpnp.asarray(values.astype("i1"), sycl_queue=queue)
busy = True
def load():
    while busy:
        np.random.default_rng(0).standard_normal(50_000).sum()
threads = [threading.Thread(target=load) for _ in range(2)]
for t in threads: t.start()
wrong = 0
for _ in range(1500):
    a, b = first(x=u), second(x=s)
    wrong += not np.allclose(dpnp.asnumpy(a), values * [0.1, 0.05, 0.2], atol=1e-6)
    wrong += not np.allclose(dpnp.asnumpy(b), (values - 3) * 0.02, atol=1e-6)
busy = False
for t in threads: t.join()
print("wrong:", wrong)
"""


@pytest.mark.slow
def test_constant_scales_are_copied_in_order():
    """oneDNN waits only for the last of the copies; without an in-order queue 2 of 5,000 fail."""
    assert "wrong: 0" in output(SCALES)


@pytest.mark.parametrize("data_format", ["NCX", "NXC"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_resizing_an_image_of_one_pixel(data_format, mode, queue, kind):
    """oneDNN's kernel uses the stride of that pixel as the number of channels."""
    axes = (2, 3) if data_format == "NCX" else (1, 2)
    x = np.random.default_rng(0).standard_normal((2, 15), "f4")
    x = np.expand_dims(x, axes)
    spread = np.repeat(np.repeat(x, 3, axes[0]), 5, axes[1])
    provided = {"mode": mode, "sizes": (3, 5)}
    g = Graph(kind, data_format=data_format)
    src, diff = g.input(x.shape, name="x"), g.input(spread.shape, name="dy")
    g.interpolate(src, name="y", **provided)
    g.interpolate_backward(src, diff, name="dx", **provided)
    on_device = [dpnp.asarray(a, sycl_queue=queue) for a in (x, spread)]
    y, dx = g.compile(queue)(*on_device)
    if kind == "cpu":
        np.testing.assert_array_equal(dpnp.asnumpy(y), spread)
        np.testing.assert_allclose(dpnp.asnumpy(dx), 15 * x, rtol=1e-6)
