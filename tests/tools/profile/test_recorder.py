# SPDX-License-Identifier: Apache-2.0
"""Profile records of each submission path."""

import dpnp
import pytest
from recorded import names

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import graph
from sycl_dnn import onednn as dnnl


@pytest.mark.parametrize("wait", [False, True])
def test_a_known_sequence(ones, wait):
    x, w = ones(2, 8, 42, 42), ones(16, 8, 3, 3)  # the host computes smaller ones
    with sycl_dnn.profile(wait=wait) as p:
        F.tanh(F.conv2d(x, w))
    assert names(p) == ["convolution_forward", "eltwise_forward"]
    conv = next(r for r in p.records if r.kind == "primitive" and r.name == "convolution_forward")
    assert [(t.argument, t.dtype, t.shape) for t in conv.tensors] == [
        ("src", "f32", (2, 8, 42, 42)),
        ("weights", "f32", (16, 8, 3, 3)),
        ("dst", "f32", (2, 16, 40, 40)),
    ]
    assert all(t.layout for t in conv.tensors)
    assert conv.implementation
    assert conv.host > 0
    assert conv.thread == p.records[-1].thread
    assert p.queues[conv.queue]["profiling"]


def test_gradients(ones):
    x, w = ones(2, 8, 16, 16), ones(16, 8, 3, 3)
    with sycl_dnn.profile() as p:
        y, pullback = sycl_dnn.vjp(lambda x, w: F.tanh(F.conv2d(x, w)), x, w)
        pullback(y)
    *primitives, kernel = sorted(names(p))
    assert primitives == [
        "convolution_backward_data",
        "convolution_backward_weights",
        "convolution_forward",
        "eltwise_forward",
    ]
    assert kernel.startswith("mul_sub_mul_")


def test_a_call_that_is_repeated_in_cpp(ones):
    x = ones(30, 40)  # fewer elements would be a kernel
    F.tanh(x)
    hits = sycl_dnn.cache.plans.calls.hits
    with sycl_dnn.profile() as p:
        for _ in range(5):
            F.tanh(x)
    assert sycl_dnn.cache.plans.calls.hits == hits + 5
    assert names(p) == ["eltwise_forward"] * 5
    assert not names(p, "trace")


def test_low_level_executions(engine, queue, stream):
    desc = dnnl.MemoryDesc((4, 5), dnnl.data_type.f32, "ab")
    other = dnnl.MemoryDesc((4, 5), dnnl.data_type.f32, "ba")
    copy = dnnl.Primitive(dnnl.reorder(engine, src=desc, dst=other))
    a = dnnl.Memory(desc, engine, dpnp.ones((4, 5), dtype="f4", sycl_queue=queue))
    b = dnnl.Memory(other, engine)
    with sycl_dnn.profile() as p:
        copy.execute(stream, {"src": a, "dst": b})
    stream.wait()
    (record,) = p.records
    assert (record.kind, record.name, record.inserted) == ("primitive", "reorder", False)
    assert [(t.argument, t.layout) for t in record.tensors] == [("src", "ab"), ("dst", "ba")]


def test_runtime_dimensions_are_reported_as_passed(timed):
    engine = dnnl.Engine(timed)
    stream = dnnl.Stream(engine, timed)
    f32, any_size = dnnl.data_type.f32, dnnl.RUNTIME_DIM_VAL
    open_rows = dnnl.MemoryDesc((any_size, 4), f32, "ab")
    weights = dnnl.MemoryDesc((4, 4), f32, "ab")
    pd = dnnl.matmul(engine, src=open_rows, weights=weights, dst=open_rows)
    product = dnnl.Primitive(pd)

    def memory(rows):
        return dnnl.Memory(dnnl.MemoryDesc((rows, 4), f32, "ab"), engine)

    with sycl_dnn.profile() as p:
        for rows in (2, 3, 2):
            args = {"src": memory(rows), "weights": memory(4), "dst": memory(rows)}
            product.execute(stream, args)
    assert [r.tensors[0].shape for r in p.records] == [(2, 4), (3, 4), (2, 4)]


def test_compiled_functions_plans_and_submissions(ones):
    x, w = ones(4, 8), ones(16, 8)
    compiled = sycl_dnn.compile(lambda x: F.relu(F.linear(x, w)))
    compiled(x)
    bound = compiled.bind(x)
    plan = sycl_dnn.plan(F.linear, x, w)
    with sycl_dnn.profile() as p:
        compiled(x)
        bound()
        plan()
        sycl_dnn.submit([plan, plan])
    products = [r for r in p.records if r.kind == "primitive" and not r.inserted]
    assert len(products) == 5
    assert {r.name for r in products} <= {"matmul", "inner_product_forward"}
    texts = [f"{r.attributes} {r.implementation}" for r in products]  # the latter by the host
    assert ["relu" in text for text in texts] == [True, True, False, False, False]


def test_graphs(timed, ones):
    g = graph.Graph("cpu")
    a, b = g.input((4, 8), "f32", name="a"), g.input((8, 16), "f32", name="b")
    g.output(g.reciprocal(g.relu(g.matmul(a, b))))
    compiled = g.compile(timed)
    with sycl_dnn.profile() as p:
        compiled(ones(4, 8), ones(8, 16))
    (partition,) = [r for r in p.records if r.kind == "partition"]
    assert partition.name == "matmul+relu"
    assert partition.clock == "wall"
    assert [t.shape for t in partition.tensors] == [(4, 8), (8, 16), (4, 16)]
    assert names(p, "dpnp") == ["graph.reciprocal"]
    assert [name.partition("_")[0] for name in names(p)] == ["div"]


def test_calls_of_dpnp(ones):
    with sycl_dnn.profile(wait=True) as p:
        F.argsort(ones(2, 40_000))
    (call,) = [r for r in p.records if r.kind == "dpnp"]
    assert call.tensors[0].shape == (2, 40_000)
    assert call.clock == "wall"
    assert call.time >= 0


def test_zeros(ones):
    part, pullback = sycl_dnn.vjp(lambda x: F.split(x, 2)[0], ones(4, 3))
    with sycl_dnn.profile() as p:
        pullback(part)
    assert names(p, "fill") == ["zeros"]
    (fill,) = [r for r in p.records if r.kind == "fill"]
    assert fill.clock == "device"
