# SPDX-License-Identifier: Apache-2.0
"""dpnp -> oneDNN -> dpnp in one sequence without a wait, on both kinds of queue."""

import dpctl
import dpnp
import numpy as np
import pytest
from dpctl.utils import SequentialOrderManager

from sycl_dnn import onednn as dnnl

N = 192
RUNS = 200


class Chain:
    """negate -> matmul -> negate -> relu -> double, half of it in dpnp, half in oneDNN."""

    def __init__(self, queue, ordered):
        self.queue = queue
        engine = dnnl.Engine(queue)
        self.stream = dnnl.Stream(engine, queue, ordered=ordered)
        d = dnnl.MemoryDesc((N, N), dnnl.data_type.f32)
        self.matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
        self.relu = dnnl.Primitive(
            dnnl.eltwise_forward(
                engine, prop_kind=dnnl.prop_kind.forward_inference, src=d, dst=d,
                algorithm=dnnl.algorithm.eltwise_relu,
            )
        )  # fmt: skip
        self.draw()

    def draw(self):
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal((N, N), dtype="f4") for _ in range(2))
        scales = [np.float32(k) for k in range(-3, 4)]
        self.inputs = [dpnp.asarray(a * k, sycl_queue=self.queue) for k in scales]
        self.expected = [2 * np.maximum(-((a * k).astype("f8") @ b), 0) for k in scales]
        self.weights = dpnp.asarray(b, sycl_queue=self.queue)
        self.zero = dpnp.zeros((N, N), dtype="f4", sycl_queue=self.queue)
        SequentialOrderManager[self.queue].wait()

    def call(self, primitive, **arrays):
        engine = self.stream.engine
        args = {name: dnnl.Memory.from_array(a, engine) for name, a in arrays.items()}
        primitive.execute(self.stream, args)

    def run(self, index):
        a = self.zero.copy()
        for _ in range(4):
            a = dpnp.negative(a)
        a += self.inputs[index]
        product, positive = dpnp.empty_like(a), dpnp.empty_like(a)
        self.call(self.matmul, src=a, weights=self.weights, dst=product)
        negated = dpnp.negative(product)
        self.call(self.relu, src=negated, dst=positive)
        result = positive.copy()
        result += positive
        for used in (a, product, negated, positive):
            used[...] = self.zero  # must wait for everything that still reads it
        return result

    def wrong(self, runs=RUNS):
        count = 0
        for i in range(runs):
            k = i % len(self.inputs)
            actual = self.run(k).asnumpy()
            count += not np.allclose(actual, self.expected[k], rtol=1e-3, atol=1e-2)
        self.stream.wait()
        SequentialOrderManager[self.queue].wait()
        return count


@pytest.fixture(params=["out_of_order", "in_order"])
def any_queue(queue, request):
    if request.param == "in_order":
        return dpctl.SyclQueue(queue.sycl_context, queue.sycl_device, property="in_order")
    return queue


@pytest.mark.slow
def test_ordered_stream_is_in_sequence_with_dpnp(any_queue):
    assert Chain(any_queue, ordered=True).wrong() == 0


@pytest.mark.slow
def test_the_same_chain_is_wrong_without_order(queue):
    """The negative control: dependencies dropped on an out-of-order queue."""
    assert Chain(queue, ordered=False).wrong() > 0


def test_ordered_execution_is_registered_with_dpnp(queue):
    chain = Chain(queue, ordered=True)
    manager = SequentialOrderManager[queue]
    before = manager.num_submitted_events
    a, b = dpnp.empty_like(chain.zero), dpnp.empty_like(chain.zero)
    chain.call(chain.matmul, src=chain.zero, weights=chain.zero, dst=a)
    chain.call(chain.matmul, src=a, weights=chain.zero, dst=b)
    assert manager.num_submitted_events > before or manager.num_submitted_events == 0
    manager.wait()


def test_arrays_of_other_queues_are_in_sequence_too(queue):
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue, ordered=True)
    d = dnnl.MemoryDesc((1000, 1000), dnnl.data_type.f32)
    copy = dnnl.Primitive(dnnl.reorder(engine, src=d, dst=d))
    for number in range(10):
        x = dpnp.full((1000, 1000), 0.001, dtype="f4", sycl_queue=other)
        x = (x @ x @ x) * 0 + number
        result = dpnp.full((1000, 1000), -1, dtype="f4", sycl_queue=queue)
        src, dst = (dnnl.Memory.from_array(a, engine) for a in (x, result))
        copy.execute(stream, {"src": src, "dst": dst})
        x[...] = -2  # waits for the copy
        assert result.min() == result.max() == number


def test_zero_is_in_sequence_with_an_array_of_another_queue(queue):
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue, ordered=True)
    factor = dpnp.full((1000, 1000), 0.001, dtype="f4", sycl_queue=other)
    for _ in range(10):
        x = dpnp.ones((1000, 1000), dtype="f4", sycl_queue=other)
        dpnp.matmul(factor, factor, out=x)
        dnnl.Memory.from_array(x, engine).zero(stream)
        assert (x + 1).max() == 1  # waits for the zeros


def test_given_events_are_waited_for(queue):
    """A chain by events alone, no order manager: each step doubles."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine, queue)
    d = dnnl.MemoryDesc((64, 64), dnnl.data_type.f32)
    add = dnnl.Primitive(
        dnnl.binary(engine, algorithm=dnnl.algorithm.binary_add, src0=d, src1=d, dst=d)
    )
    ones = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    queue.wait()
    memories = [dnnl.Memory.from_array(ones, engine), *(dnnl.Memory(d, engine) for _ in range(20))]
    event = ()
    for before, after in zip(memories, memories[1:], strict=False):
        args = {"src_0": before, "src_1": before, "dst": after}
        event = (add.execute(stream, args, event),)
    event[0].wait()
    assert (memories[-1].to_array().asnumpy() == 2.0**20).all()


@pytest.mark.parametrize("provided", [False, True], ids=["no queue", "queue"])
def test_stream_without_a_queue_is_ordered(queue, provided):
    """As in C++, whose default stream is in order."""
    engine = dnnl.Engine(queue)
    assert dnnl.Stream(engine, *[queue] * provided).ordered is not provided
    assert dnnl.Stream(engine, *[queue] * provided, ordered=True).ordered
    assert not dnnl.Stream(engine, *[queue] * provided, ordered=False).ordered


def test_literal_port_without_a_queue_has_no_race(queue):
    """A reorder, then an absolute value of what it wrote, as a C++ program has it."""
    engine = dnnl.Engine(queue)
    stream = dnnl.Stream(engine)
    shape, kind = (1, 64, 128, 128), dnnl.prop_kind.forward_inference
    nchw, nhwc = (dnnl.MemoryDesc(shape, dnnl.data_type.f32, t) for t in ("abcd", "acdb"))
    algorithm = dnnl.algorithm.eltwise_abs
    pd = dnnl.eltwise_forward(engine, prop_kind=kind, algorithm=algorithm, src=nhwc, dst=nhwc)
    absolute = dnnl.Primitive(pd)
    turn = dnnl.Primitive(dnnl.reorder(engine, src=nchw, dst=nhwc))
    values = dpnp.full(shape, -3, dtype="f4", sycl_queue=queue)
    for _ in range(8):
        src = dnnl.Memory.from_array(values, engine)
        between, dst = (dnnl.Memory(nhwc, engine) for _ in range(2))
        turn.execute(stream, {"src": src, "dst": between})
        absolute.execute(stream, {"src": between, "dst": dst})
        stream.wait()
        assert (dst.to_array().asnumpy() == 3).all()
