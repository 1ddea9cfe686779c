# SPDX-License-Identifier: Apache-2.0
"""``sycl_dnn.cache`` covers plans of eager calls and gradients, compiled programs and graphs."""

import gc

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F


@pytest.fixture
def x(queue):
    gc.collect()
    sycl_dnn.cache.clear()
    yield dpnp.ones(4, dtype="f4", sycl_queue=queue)
    sycl_dnn.cache.resize(1024)
    sycl_dnn.cache.clear()


@pytest.fixture
def graph(queue):
    made = sycl_dnn.graph.Graph(engine="gpu" if queue.sycl_device.is_gpu else "cpu")
    made.output(made.relu(made.input((4,))))
    return made.compile(queue)


@pytest.mark.slow
def test_info_counts_plans_programs_and_graphs(x, graph):
    size = sycl_dnn.cache.info().size
    F.relu(x)
    assert sycl_dnn.cache.info().size == size + 1
    sycl_dnn.vjp(lambda x: F.relu(x), x)
    assert sycl_dnn.cache.info().size == size + 2
    compiled = sycl_dnn.compile(lambda x: F.relu(x))
    compiled(x)
    compiled(x[:2])
    assert sycl_dnn.cache.info().size == size + 4
    graph(x)
    info = sycl_dnn.cache.info()
    assert info.size >= size + 4
    del compiled
    gc.collect()
    assert sycl_dnn.cache.info().size == info.size - 2


@pytest.mark.slow
def test_clear_and_resize_apply_to_plans_programs_and_graphs(x, graph):
    compiled = sycl_dnn.compile(lambda x: F.relu(x))
    for n in (1, 2, 3, 4):
        compiled(x[:n])
        sycl_dnn.vjp(lambda x: F.relu(x), x[:n])
    graph(x)
    sycl_dnn.cache.resize(2)
    assert compiled.cache_info().size == 2
    assert sycl_dnn.cache.info().capacity == 2
    compiled(x[:1])
    assert compiled.cache_info().size == 2
    sycl_dnn.cache.clear()
    assert sycl_dnn.cache.info()[:3] == (0, 0, 0)
    assert (compiled.cache_info().size, graph.cache_info().size) == (0, 0)
    assert dpnp.asnumpy(graph(x)).tolist() == dpnp.asnumpy(compiled(x)).tolist() == [1] * 4
