# SPDX-License-Identifier: Apache-2.0
"""Primitives, memory, streams, events and graphs of two GPUs in one process."""

import dpctl
import dpnp
import numpy as np
import pytest
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import InvalidArguments, graph
from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
D = dnnl.MemoryDesc((32, 32), F32)
VALUES = np.random.default_rng(0).standard_normal((32, 32)).astype("f4")


def square(engine):
    return dnnl.Primitive(dnnl.matmul(engine, src=D, weights=D, dst=D))


def memory(stream, values=VALUES, **how):
    array = dpnp.array(values, sycl_queue=stream.sycl_queue, **how)
    array.sycl_queue.wait()
    return dnnl.Memory.from_array(array, stream.engine)


def arguments(stream):
    provided = memory(stream)
    return {
        "src": provided,
        "weights": provided,
        "dst": memory(stream, np.full_like(VALUES, np.nan)),
    }


def test_an_engine_each(streams):
    first, second = (stream.engine for stream in streams)
    assert first != second
    assert dnnl.Engine.count(dnnl.engine_kind.gpu) == 2


def test_both_at_a_time(streams):
    """Executions on two queues, submitted by turns; none waits before all are there."""
    work = [(square(stream.engine), stream, arguments(stream)) for stream in streams]
    events = [p.execute(stream, args) for _ in range(20) for p, stream, args in work]
    for event in events:
        event.wait()
    for _, stream, args in work:
        stream.wait()
        np.testing.assert_allclose(args["dst"].to_array().asnumpy(), VALUES @ VALUES, atol=1e-4)
        assert stream.pending == 0


def test_events_cross_gpus(streams):
    """A chain whose links are on one GPU and on the other by turns, in host memory."""
    relay = [dpnp.array(VALUES, sycl_queue=streams[0].sycl_queue, usm_type="host")]
    relay += [dpnp.empty_like(relay[0]) for _ in range(2)]
    streams[0].sycl_queue.wait()
    double = [
        dnnl.Primitive(
            dnnl.binary(s.engine, algorithm=dnnl.algorithm.binary_add, src0=D, src1=D, dst=D)
        )
        for s in streams
    ]
    event = []
    for i in range(2):
        src, dst = (dnnl.Memory.from_array(a, streams[i].engine) for a in relay[i : i + 2])
        args = {"src": src, "src_1": src, "dst": dst}
        event = [double[i].execute(streams[i], args, event)]
    event[0].wait()
    np.testing.assert_array_equal(relay[2].asnumpy(), 4 * VALUES)


def test_memory_and_streams_of_the_other_gpu_are_refused(streams):
    first, second = streams
    primitive, args = square(first.engine), arguments(first)
    with pytest.raises(InvalidArguments, match="weights must be in memory of the primitive's"):
        primitive.execute(first, {**args, "weights": memory(second)})
    with pytest.raises(InvalidArguments, match="stream must be on the primitive's engine"):
        primitive.execute(second, args)
    with pytest.raises(InvalidArguments, match="queue must be on the engine's device"):
        dnnl.Stream(first.engine, second.sycl_queue)


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_an_array_of_the_other_is_refused(usm_type, streams):
    """They share a context, but a GPU may not read the memory of another."""
    first, second = streams
    array = dpnp.zeros((32, 32), dtype="f4", sycl_queue=second.sycl_queue, usm_type=usm_type)
    with pytest.raises(ExecutionPlacementError, match="Memory: array must be allocated on the dev"):
        dnnl.Memory.from_array(array, first.engine)
    with pytest.raises(ExecutionPlacementError, match="Tensor: array must be allocated on the dev"):
        graph.Tensor(graph.LogicalTensor(0, "f32", (32, 32)), first.engine, array)


def test_memory_of_the_host_serves_both(streams):
    first, second = streams
    shared = memory(second, usm_type="host").to_array()
    primitive, args = square(first.engine), arguments(first)
    args["src"] = dnnl.Memory.from_array(shared, first.engine)
    primitive.execute(first, args).wait()
    np.testing.assert_allclose(args["dst"].to_array().asnumpy(), VALUES @ VALUES, atol=1e-4)


def test_custom_kernel_is_built_for_each_device(gpus):
    """In the context that both share: a program is built for the devices that are named."""
    source = "kernel void add(global int *p) { p[get_global_id(0)] += 3; }"
    for device in gpus:
        queue = dpctl.SyclQueue(device)
        program = dpctl.program.create_program_from_source(queue, source)
        array = dpnp.zeros(64, dtype="i4", sycl_queue=queue)
        queue.wait()
        result = queue.submit(
            program.get_sycl_kernel("add"), [array.get_array().usm_data], [64], [8]
        )
        result.wait()
        assert (array.asnumpy() == 3).all()


@pytest.mark.parametrize("layouts", ["ab ab", "ab ba", "ba ab"])
@pytest.mark.parametrize("source", [0, 1])
def test_reorder_between_gpus(source, layouts, streams):
    there, here = streams[source], streams[1 - source]
    src, dst = (dnnl.MemoryDesc((32, 32), F32, tag) for tag in layouts.split())
    result = dnnl.reorder(there.engine, src=src, dst=dst, dst_engine=here.engine)
    primitive = dnnl.Primitive(result)
    for turn in range(3):
        args = {"src": dnnl.Memory(src, there.engine), "dst": dnnl.Memory(dst, here.engine)}
        values = dpnp.asarray(VALUES + turn, sycl_queue=args["src"].to_array().sycl_queue)
        args["src"].to_array()[...] = values
        values.sycl_queue.wait()
        primitive.execute(there, args).wait()
        np.testing.assert_array_equal(args["dst"].to_array().asnumpy(), VALUES + turn)
    with pytest.raises(InvalidArguments, match="stream must be on src's engine"):
        primitive.execute(here, args)


@pytest.mark.parametrize("n", [8, 1024, 1 << 18])
def test_arrays_are_copied_between_gpus(n, queues):
    first, second = queues
    for turn in range(4):
        values = np.arange(n, dtype="f4") + turn
        array = dpnp.asarray(values, sycl_queue=first)
        np.testing.assert_array_equal(dpnp.asarray(array, sycl_queue=second).asnumpy(), values)
