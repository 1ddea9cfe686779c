# SPDX-License-Identifier: Apache-2.0
"""Biases, scales and statistics with gaps: refused by primitives, copied by graphs."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented
from sycl_dnn.graph import Graph, partition_plan
from sycl_dnn.onednn import faults

D, T = dnnl.MemoryDesc, dnnl.data_type
APART = D((8,), T.f32, strides=(2,))
ROWS, SQUARE = D((4, 8), T.f32, "ab"), D((8, 8), T.f32, "ab")


def dense_layer(engine, bias=APART):
    return dnnl.inner_product_forward(
        engine, prop_kind="forward_training", src=ROWS, weights=SQUARE, bias=bias, dst=ROWS
    )


def gradients(engine, bias=APART):
    return dnnl.inner_product_backward_weights(
        engine, src=ROWS, diff_weights=SQUARE, diff_bias=bias, diff_dst=ROWS,
        hint_fwd_pd=dense_layer(engine, D((8,), T.f32, "a")),
    )  # fmt: skip


def product(engine, bias=None):
    bias = D((1, 8), T.f32, strides=(16, 2)) if bias is None else D((1, 8), T.f32, "ab")
    return dnnl.matmul(engine, src=ROWS, weights=SQUARE, bias=bias, dst=ROWS)


MAKERS = [dense_layer, gradients, product]


@pytest.mark.parametrize("make", MAKERS)
def test_a_bias_with_gaps_is_refused(engine, make):
    with pytest.raises(Unimplemented, match="the elements of a bias must lie one after the other"):
        make(engine)


@pytest.mark.parametrize("make", MAKERS)
def test_a_dense_bias_is_taken(engine, make):
    assert make(engine, D((8,), T.f32, "a")).impl_info


def test_a_bias_with_gaps_is_still_taken_for_dense(engine, stream):
    _core._watch(set(), faults.check)
    try:
        primitive = dnnl.Primitive(dense_layer(engine))
    finally:
        _core._watch(set(faults._WATCHED), faults.check)
    zeros = dpnp.zeros(64, dtype="f4", sycl_queue=stream.sycl_queue)
    numbers = dpnp.arange(16, dtype="f4", sycl_queue=stream.sycl_queue)
    made = dpnp.zeros(32, dtype="f4", sycl_queue=stream.sycl_queue)
    arrays = {"src": zeros[:32], "weights": zeros, "bias": numbers, "dst": made}
    stream.sycl_queue.wait()
    descs = {n: found["desc"] for n, found in primitive.arguments.items()}
    args = {n: dnnl.Memory(descs[n], engine, array) for n, array in arrays.items()}
    primitive.execute(stream, args).wait()
    told = "oneDNN may have mended bias-apart: look, then drop it"
    assert not np.array_equal(made.asnumpy()[:8], np.arange(8) * 2), told


def normalized(queue, scale):
    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    x, w = graph.input((4, 8), name="x"), graph.input((8,), name="scale")
    zeros = graph.constant(dpnp.zeros(8, dtype="f4", sycl_queue=queue))
    graph.layer_norm(x, w, zeros, keep_stats=False)
    rows = dpnp.asarray(np.random.default_rng(0).standard_normal((4, 8), "f4"), sycl_queue=queue)
    made = graph.compile(queue)(x=rows, scale=scale)
    return (made[0] if isinstance(made, (tuple, list)) else made).asnumpy()


def test_graphs_copy_vectors_with_gaps(queue):
    numbers = dpnp.arange(16, dtype="f4", sycl_queue=queue)
    expected = normalized(queue, dpnp.ascontiguousarray(numbers[::2]))
    np.testing.assert_allclose(normalized(queue, numbers[::2]), expected, atol=1e-6)


def test_partitions_still_take_vectors_for_dense(monkeypatch):
    queue = sycl_dnn.default_queue("cpu")
    numbers = dpnp.arange(16, dtype="f4", sycl_queue=queue)
    expected = normalized(queue, dpnp.ascontiguousarray(numbers[::2]))
    monkeypatch.setattr(partition_plan.Plan, "_rows_for", lambda plan, group: {})
    monkeypatch.setattr(partition_plan, "why_wrong", lambda *of: "")
    told = "oneDNN may have mended graph-vectors-apart: look, then drop it"
    assert not np.allclose(normalized(queue, numbers[::2]), expected, atol=1e-6), told
