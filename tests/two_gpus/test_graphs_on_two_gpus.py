# SPDX-License-Identifier: Apache-2.0
"""Graphs compiled for each of two GPUs, and random masks on each."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.graph import Graph


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def test_a_graph_for_each(queues):
    g = Graph("gpu")
    x, w = g.input((None, 8), name="x"), g.input((8, 8), name="w")
    g.relu(g.matmul(x, w, name="product"), name="y")
    compiled = [g.compile(queue) for queue in queues]
    for turn in range(3):
        for queue, result in zip(queues, compiled, strict=True):
            a, b = values(4, 8, seed=turn), values(8, 8, seed=1)
            y = result(*(dpnp.asarray(v, sycl_queue=queue) for v in (a, b)))
            assert y.sycl_queue == queue
            np.testing.assert_allclose(y.asnumpy(), np.maximum(a @ b, 0), atol=1e-5)
    wrong = [dpnp.asarray(v, sycl_queue=queues[1]) for v in (a, b)]
    with pytest.raises(dpnp.exceptions.ExecutionPlacementError):
        compiled[0](*wrong)


def test_random_masks_are_on_each(queues):
    for queue in queues:
        sycl_dnn.manual_seed(0)
        x = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
        y = F.dropout(x, 0.5)
        assert y.sycl_queue == queue
        assert set(np.unique(y.asnumpy())) == {0.0, 2.0}
