# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of graph execution documented in docs/graph.md, one test for each."""

import re
from pathlib import Path

import dpctl
import dpnp
import numpy as np
import pytest
from fresh_process import output

from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "graph.md"
CONV = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}


@pytest.fixture
def make(queue):
    rng = np.random.default_rng(0)
    return lambda *shape: dpnp.asarray(rng.standard_normal(shape, "f4"), sycl_queue=queue)


def test_page_names_tests_that_exist():
    rows = re.findall(
        r"^\| .* \|$", PAGE.read_text().split("## Pitfalls")[1].split("\n## ")[0], re.M
    )
    named = [re.findall(r"`(test_\w+)`", row) for row in rows[2:]]
    assert len(named) > 10
    source = "".join(path.read_text() for path in (HERE.parent).glob("*/test_*.py"))
    for names in named:
        assert names, "a row without a test"
        for name in names:
            assert f"def {name}(" in source, name


@pytest.mark.slow
def test_a_dependency_may_need_the_gil():
    """The call blocks on the CPU until its dependencies are done: with the GIL, forever."""
    code = """
import dpnp, sycl_dnn
from sycl_dnn import graph as sg, onednn as dnnl
queue = sycl_dnn.default_queue("cpu")
engine = dnnl.Engine(queue)
stream = dnnl.Stream(engine, queue)
x, y = sg.LogicalTensor(0, "f32", (4,)), sg.LogicalTensor(1, "f32", (4,))
made = sg.Partition(sg.Op(0, "ReLU", [x], [y]), "cpu").compile([x], [y], engine)
src = sg.Tensor(x, engine, dpnp.ones(4, dtype="f4", sycl_queue=queue))
dst = sg.Tensor(y, engine)
queue.wait()
big = dpnp.ones((1024, 1024), dtype="f4", sycl_queue=queue)
for _ in range(3):
    product = dpnp.matmul(big, big)
work = queue.submit_barrier()
# A host task that gives objects back once the products are there, for which it takes the GIL.
needs_gil = queue._submit_keep_args_alive([object() for _ in range(8)], [work])
made.execute(stream, [src], [dst], depends=[needs_gil]).wait()
print(dpnp.asnumpy(dst.to_array()).sum())
"""
    assert output(code) == "4.0"


def test_the_constant_cache_is_keyed_by_addresses(kind, queue):
    """When it is off, which is the default, each call reads the current contents of the array."""
    for capacity, second in ((64, 1.0), (0, 3.0)):
        sg.set_constant_tensor_cache_capacity(kind, capacity)
        try:
            w = dpnp.ones((3, 3, 32, 32), dtype="f4", sycl_queue=queue)
            g = Graph(kind)
            g.convolution(g.input((1, 5, 5, 32)), g.constant(w), **CONV, dilations=(1, 1))
            compiled = g.compile(queue)
            x = dpnp.ones((1, 5, 5, 32), dtype="f4", sycl_queue=queue)
            first = float(compiled(x).max())
            w[...] = 3
            queue.wait()
            assert (first, float(compiled(x).max())) == (288.0, 288.0 * second)
        finally:
            sg.set_constant_tensor_cache_capacity(kind, 0)


def test_channels_are_last_in_data_and_weights(kind, make, queue):
    x, w = make(2, 7, 6, 4), make(3, 2, 4, 5)
    g = Graph(kind)
    g.convolution(g.input(x.shape), g.input(w.shape), **CONV, dilations=(2, 1))
    windows = np.lib.stride_tricks.sliding_window_view(dpnp.asnumpy(x), (5, 2), (1, 2))
    expected = np.einsum("nhwcij,ijco->nhwo", windows[..., ::2, :], dpnp.asnumpy(w))
    np.testing.assert_allclose(dpnp.asnumpy(g.compile(queue)(x, w)), expected, atol=1e-4)


def test_backward_operations_take_the_result_by_default(kind, make, queue):
    y, dy = make(4, 8), make(4, 8)
    for options, expected in (({}, 1 - y * y), ({"use_dst": False}, 1 - dpnp.tanh(y) ** 2)):
        g = Graph(kind)
        g.tanh_backward(g.input(y.shape), g.input(y.shape), **options)
        actual = g.compile(queue)(y, dy)
        np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(dy * expected), atol=1e-5)


def test_softmax_is_along_axis_1_by_default(kind, make, queue):
    x = make(2, 3, 4)
    g = Graph(kind)
    g.softmax(g.input(x.shape))
    sums = dpnp.asnumpy(g.compile(queue)(x)).sum(1)
    np.testing.assert_allclose(sums, np.ones((2, 4)), atol=1e-5)


def test_engines_over_the_same_context_are_equal(kind, engine, queue):
    """oneDNN compares engines by address."""
    x, y = sg.LogicalTensor(0, "f32", (4,)), sg.LogicalTensor(1, "f32", (4,))
    result = sg.Partition(sg.Op(0, "ReLU", [x], [y]), kind).compile([x], [y], engine)
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    stream = dnnl.Stream(dnnl.Engine(other), other)
    src = sg.Tensor(x, dnnl.Engine(other), dpnp.ones(4, dtype="f4", sycl_queue=queue))
    dst = sg.Tensor(y, engine)
    queue.wait()
    result.execute(stream, [src], [dst]).wait()
    assert dpnp.asnumpy(dst.to_array()).tolist() == [1, 1, 1, 1]
