# SPDX-License-Identifier: Apache-2.0
"""Graphs allocate from a framework's own pool; tensors can be moved to other arrays."""

import ctypes

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import InvalidArguments, graph
from sycl_dnn import onednn as dnnl


class Pool:
    """A framework's pool: counts, and keeps allocations until they are returned."""

    def __init__(self, queue):
        self.queue, self.lent, self.given, self.taken = queue, {}, 0, []

    def allocate(self, nbytes, alignment):
        result = dpctl.memory.MemoryUSMDevice(
            nbytes, alignment=max(alignment, 64), queue=self.queue
        )
        self.lent[result._pointer] = result
        self.given += 1
        return result._pointer

    def deallocate(self, pointer, event):
        assert event is None or isinstance(event, dpctl.SyclEvent)
        self.taken.append(self.lent.pop(pointer))


@pytest.fixture
def constants():
    """Enable the constant cache, whose contents come from the allocator."""
    graph.set_constant_tensor_cache_capacity("cpu", 16)
    yield
    graph.set_constant_tensor_cache_capacity("cpu", 0)


def _run(engine, stream):
    """A convolution whose constant weights are packed once."""
    x, y = (
        graph.LogicalTensor(0, "f32", (2, 16, 8, 8)),
        graph.LogicalTensor(2, "f32", (2, 16, 6, 6)),
    )
    w = graph.LogicalTensor(1, "f32", (16, 16, 3, 3), property_type="constant")
    window = {"strides": (1, 1), "dilations": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}
    layouts = {"data_format": "NCX", "weights_format": "OIX"}
    op = graph.Op(0, "Convolution", [x, w], [y], window | layouts)
    result = graph.Partition(op, "cpu").compile([x, w], [y], engine)
    tensors = [graph.Tensor(t, engine) for t in (x, w)]
    result.execute(stream, tensors, [graph.Tensor(y, engine)]).wait()
    stream.wait()


def test_engine_with_an_allocator_allocates_from_it(cpu_queue, constants):
    pool = Pool(cpu_queue)
    allocator = dnnl.make_allocator(pool.allocate, pool.deallocate)
    engine = dnnl.make_engine_with_allocator(cpu_queue, allocator)
    assert engine != dnnl.Engine(cpu_queue)
    stream = dnnl.Stream(engine, cpu_queue)
    _run(engine, stream)
    assert pool.given >= 1
    assert len(pool.lent) <= 1, "what is no constant was taken back"
    graph.set_constant_tensor_cache_capacity("cpu", 0)
    assert not pool.lent, "and so were the constants"


def test_c_functions_run_without_python(cpu_queue, constants):
    """Their addresses are passed to the library directly."""
    pool = Pool(cpu_queue)
    give = ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_size_t] * 2, *[ctypes.c_void_p] * 2)(
        lambda nbytes, alignment, device, context: pool.allocate(nbytes, alignment)
    )
    take = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(
        lambda pointer, device, context, event: pool.deallocate(pointer, None)
    )
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in (give, take)]
    engine = dnnl.make_engine_with_allocator(cpu_queue, dnnl.make_allocator(*addresses))
    stream = dnnl.Stream(engine, cpu_queue)
    _run(engine, stream)
    assert pool.given >= 1


def test_non_callables_are_refused(queue):
    with pytest.raises(TypeError, match="allocate must be callable or an address, got str"):
        dnnl.make_allocator("x", print)
    with pytest.raises(TypeError, match="allocate and deallocate must be of one kind"):
        dnnl.make_allocator(1, print)
    with pytest.raises(TypeError, match="allocator must be an Allocator, got NoneType"):
        dnnl.make_engine_with_allocator(queue, None)


# --- Tensor.set_data_handle


def test_set_data_handle_moves_a_tensor(engine):
    lt = graph.LogicalTensor(0, "f32", (2, 3))
    first, second = (dpnp.full((2, 3), n, dtype="f4", sycl_queue=engine.sycl_queue) for n in (1, 2))
    sycl_dnn.synchronize(engine.sycl_queue)
    tensor = graph.Tensor(lt, engine, first)
    tensor.set_data_handle(second)
    assert tensor.pointer == second.get_array()._pointer
    assert tensor.owner is second
    assert (np.asarray(dpnp.asnumpy(tensor.to_array())) == 2).all()


def test_set_data_handle_checks_like_a_new_tensor(engine):
    lt = graph.LogicalTensor(0, "f32", (2, 3))
    tensor = graph.Tensor(lt, engine)
    queue = engine.sycl_queue
    with pytest.raises(InvalidArguments, match="array must have dtype f32, got int32"):
        tensor.set_data_handle(dpnp.zeros((2, 3), dtype="i4", sycl_queue=queue))
    with pytest.raises(InvalidArguments, match="array must have shape"):
        tensor.set_data_handle(dpnp.zeros((3, 2), dtype="f4", sycl_queue=queue))
    with pytest.raises(InvalidArguments, match="array must hold 24 bytes"):
        tensor.set_data_handle(dpctl.memory.MemoryUSMDevice(8, queue=queue))
    with pytest.raises(TypeError, match="array must be a dpnp.ndarray"):
        tensor.set_data_handle(7)


def test_graph_classes_have_onednn_s_names():
    assert graph.graph is graph.OpGraph
    assert graph.op is graph.Op
    assert graph.logical_tensor is graph.LogicalTensor
    assert graph.partition is graph.Partition
    assert graph.compiled_partition is graph.CompiledPartition
