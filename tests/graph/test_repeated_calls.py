# SPDX-License-Identifier: Apache-2.0
"""Repeated calls of compiled graphs that bypass Python."""

import gc
import subprocess
import sys
import weakref

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.errors import InvalidArguments
from sycl_dnn.graph import Graph


def kind_of(queue):
    return queue.sycl_device.device_type.name


def array(queue, *shape, value=1.0):
    return dpnp.full(shape, value, dtype="f4", sycl_queue=queue)


def hits_of(call, compiled):
    before = compiled._plans.calls.hits
    return call(), compiled._plans.calls.hits - before


@pytest.fixture
def two(queue):
    """A graph of two partitions at least, with a constant and two results."""
    graph = Graph(kind_of(queue))
    x, w = graph.input((4, 8), "f32", name="x"), graph.input((8, 8), "f32", name="w")
    h = graph.relu(graph.matmul(x, w))
    shifted = graph.add(h, graph.constant(np.full((8,), 0.5, "f4")))
    graph.output(h)
    graph.output(graph.softmax(graph.matmul(shifted, w), axis=1))
    return graph.compile(queue)


def expected(x, w):
    h = np.maximum(x @ w, 0)
    z = (h + 0.5) @ w
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return h, e / e.sum(axis=1, keepdims=True)


def test_the_second_call_takes_the_fast_path(queue, two):
    rng = np.random.default_rng(1)
    for n in range(4):
        x, w = rng.standard_normal((4, 8), "f4"), rng.standard_normal((8, 8), "f4")
        args = [dpnp.asarray(a, sycl_queue=queue) for a in (x, w)]
        actual, hits = hits_of(lambda args=args: two(*args), two)
        assert hits == (n > 0)
        for mine, target in zip(actual, expected(x, w), strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(mine), target, rtol=1e-5, atol=1e-5)


def test_arguments_by_name_in_any_order(queue, two):
    x, w = array(queue, 4, 8, value=2.0), array(queue, 8, 8)
    target = expected(np.full((4, 8), 2, "f4"), np.ones((8, 8), "f4"))[0]
    for _ in range(3):
        for call in (lambda: two(x, w), lambda: two(w=w, x=x), lambda: two(x, w=w)):
            np.testing.assert_allclose(dpnp.asnumpy(call()[0]), target)
    assert two._plans.calls.hits >= 6


def test_mismatched_arguments_are_refused_each_time(queue, two):
    x, w = array(queue, 4, 8), array(queue, 8, 8)
    other = array(dpctl.SyclQueue(queue.sycl_device), 4, 8)
    for _ in range(2):
        two(x, w)
        with pytest.raises(InvalidArguments, match="must have shape"):
            two(array(queue, 5, 8), w)
        with pytest.raises(TypeError, match="dtype"):
            two(x.astype("i4"), w)
        with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
            two(other, w)
        with pytest.raises(InvalidArguments, match="must be given"):
            two(x)


def test_shapes_and_strides_are_distinguished(queue):
    graph = Graph(kind_of(queue))
    graph.relu(graph.input((None, None), "f32", name="x"))
    run = graph.compile(queue)
    values = np.arange(-20, 220, dtype="f4").reshape(12, 20)
    x = dpnp.asarray(values, sycl_queue=queue)
    pairs = [(x, values), (x.T, values.T), (x[:, ::2], values[:, ::2])]
    for _ in range(3):
        for view, target in pairs:
            np.testing.assert_array_equal(dpnp.asnumpy(run(view)), np.maximum(target, 0))


def test_bfloat16_results_are_arrays(queue):
    graph = Graph(kind_of(queue))
    graph.relu(graph.input((4,), "bf16", name="x"))
    run = graph.compile(queue)
    x = sycl_dnn.asarray(np.array([-1, 0, 1, 2], "f4"), "bfloat16", sycl_queue=queue)
    for _ in range(3):
        y = run(x)
        assert y.dtype == "bfloat16"
        assert dpnp.asnumpy(y.astype("float32")).tolist() == [0, 0, 1, 2]


def test_dropped_plans_are_not_run(queue, two):
    x, w = array(queue, 4, 8), array(queue, 8, 8)
    two(x, w)
    two(x, w)
    two.clear()
    assert hits_of(lambda: two(x, w), two)[1] == 0
    assert two.cache_info().misses == 1
    assert hits_of(lambda: two(x, w), two)[1] == 1
    assert two.cache_info().hits == 1


@pytest.mark.slow
def test_a_graph_that_was_called_is_collected(queue):
    graph = Graph(kind_of(queue))
    graph.relu(graph.input((4,), "f32", name="x"))
    run = graph.compile(queue)
    x = array(queue, 4)
    for _ in range(3):
        run(x)
    dropped = weakref.ref(run)
    del run
    gc.collect()
    assert dropped() is None


_FAILED = """
from sycl_dnn.graph import Graph
made = []
class Kept(Graph):
    def __init__(self, *args):
        made.append(self)
        super().__init__(*args)
try:
    Kept("no such device")
except Exception:
    print(repr(made[0]))
"""


@pytest.mark.slow
def test_repr_of_a_graph_whose_constructor_failed():
    done = subprocess.run(
        [sys.executable, "-c", _FAILED], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stdout.strip() == "<Graph that could not be made>"
