# SPDX-License-Identifier: Apache-2.0
"""Memory.zero: zero bytes, asynchronously and in order; only where they are the tensor's own."""

import gc
import sys

import dpctl
import dpnp
import numpy as np
import pytest
from arrays import F32, D, T

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

ARRAYS = {
    "whole": lambda a: a,
    "rows": lambda a: a[1:3],
    "transposed": lambda a: a.transpose((2, 0, 1)),
    "one row": lambda a: a[2, 3],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("view", ARRAYS)
def test_zero_writes_only_the_array(view, grid, engine, stream):
    grid += 1
    part = ARRAYS[view](grid)
    engine.sycl_queue.wait()
    event = dnnl.Memory.from_array(part, engine).zero(stream)
    assert isinstance(event, dpctl.SyclEvent)
    event.wait()
    assert not part.asnumpy().any()
    assert int((grid == 0).sum()) == part.size


#: shape and tag or strides of the whole, shape and offsets of the part
PARTS = {
    "rows": ((4, 6), "ab", (2, 6), (1, 0)),
    "part of a row": ((4, 6), "ab", (1, 3), (2, 1)),
    "one image": ((2, 40, 3, 3), "nChw16c", (1, 40, 3, 3), (1, 0, 0, 0)),
    "bytes of an odd offset": ((4, 6), "ab", (1, 5), (3, 1)),
}


BYTES = {"f32": 4, "s8": 1}


@pytest.mark.parametrize("case", PARTS)
@pytest.mark.parametrize("data_type", BYTES)
def test_zero_writes_only_the_submemory(case, data_type, engine, stream):
    shape, tag, dims, offsets = PARTS[case]
    desc = D(shape, T[data_type], tag)
    raw = dpnp.ones(desc.size, dtype="u1", sycl_queue=engine.sycl_queue)
    storage = raw.view("f4") if data_type == "f32" else raw.view("i1")
    part = dnnl.Memory(desc, engine, storage).submemory(dims, offsets)
    engine.sycl_queue.wait()
    part.zero(stream).wait()
    zeros = np.flatnonzero(raw.asnumpy() == 0)
    start = part.desc.submemory_offset * BYTES[data_type]
    count = np.prod(part.desc.padded_dims) * BYTES[data_type]
    np.testing.assert_array_equal(zeros, np.arange(start, start + count))


@pytest.mark.parametrize(
    "desc",
    [
        D((2, 17, 3, 3), F32, "nChw16c"), D((4, 6), T.s4), D.csr((4, 6), F32, 5, T.s32, T.s32),
        D((3, 1), F32, strides=(1, 99)),
    ],
    ids=str,
)  # fmt: skip
def test_every_byte_of_every_buffer_is_zero(desc, engine, stream):
    memory = dnnl.Memory(desc, engine)
    for buffer in memory.owner:
        buffer.copy_from_host(np.full(buffer.nbytes, 7, "u1"))
    memory.zero(stream).wait()
    for index, buffer in enumerate(memory.owner):
        used = desc.get_size(index) if desc.num_handles > 1 else min(desc.extent, desc.size)
        assert not buffer.copy_to_host()[:used].any()


GAPS = {
    "columns": D((4, 6), F32).submemory_desc((2, 3), (1, 0)),
    "one column": D((4, 6), F32).submemory_desc((4, 1), (0, 0)),
    "channels of blocks": D((2, 32, 3, 3), F32, "nChw16c").submemory_desc(
        (2, 16, 3, 3), (0, 16, 0, 0)
    ),
    "channels of one image": D((2, 32, 3, 3), F32, "nChw16c").submemory_desc(
        (1, 16, 3, 3), (0, 0, 0, 0)
    ),
    "half a byte": D((2, 3), T.s4, strides=(4, 1)),
}


@pytest.mark.parametrize("case", GAPS)
def test_zero_leaves_gaps_of_a_shared_array_unchanged(case, engine, stream):
    with pytest.raises(InvalidArguments, match="zero: memory must have no gaps .*got [fs]"):
        dnnl.Memory(GAPS[case], engine, dnnl.Memory(GAPS[case], engine).owner).zero(stream)


@pytest.mark.parametrize("case", GAPS)
def test_zero_clears_gaps_of_its_own_allocation(case, engine, stream):
    memory = dnnl.Memory(GAPS[case], engine)
    (buffer,) = memory.owner
    buffer.copy_from_host(np.full(buffer.nbytes, 7, "u1"))
    memory.zero(stream).wait()
    assert not buffer.copy_to_host().any()


def test_zero_refuses_read_only_memory(grid, engine, stream):
    with pytest.raises(InvalidArguments, match="must be writable, got f32 host_scalar"):
        dnnl.Memory(D.host_scalar(F32), 1.0).zero(stream)
    broadcast = dnnl.Memory.from_array(dpnp.broadcast_to(grid[:1], grid.shape), engine)
    with pytest.raises(InvalidArguments, match="must be writable"):
        broadcast.zero(stream)
    queue = dpctl.SyclQueue(dpctl.SyclContext([engine.sycl_device]), engine.sycl_device)
    other = dnnl.Stream(dnnl.Engine(queue))
    with pytest.raises(InvalidArguments, match="stream must be on the memory's engine"):
        dnnl.Memory.from_array(grid, engine).zero(other)


def test_ordered_stream_puts_it_between_dpnp_kernels(engine, queue):
    stream = dnnl.Stream(engine, queue, ordered=True)
    array = dpnp.ones(1_000_000, dtype="f4", sycl_queue=queue)
    memory = dnnl.Memory.from_array(array, engine)
    for _ in range(20):
        array += 5
        memory.zero(stream)
        array += 2
    assert (array.asnumpy() == 2).all()


def test_zero_waits_for_its_dependencies_and_returns_an_event(engine, queue):
    stream = dnnl.Stream(engine, queue)
    ones = dnnl.Memory.from_array(dpnp.ones(1_000_000, dtype="f4", sycl_queue=queue), engine)
    dst = dnnl.Memory(ones.desc, engine)
    queue.wait()
    copy = dnnl.Primitive(dnnl.reorder(engine, src=ones.desc, dst=dst.desc))
    for _ in range(20):
        copied = copy.execute(stream, {"src": ones, "dst": dst})
        zeroed = dst.zero(stream, depends=[copied])
    zeroed.wait()
    assert not dst.to_array().asnumpy().any()


@pytest.mark.slow
def test_zero_keeps_its_memory_alive_until_it_completes(engine, stream):
    memory = dnnl.Memory(D((100,), F32), engine)
    before = sys.getrefcount(memory)
    for _ in range(100):
        memory.zero(stream)
    stream.wait()
    gc.collect()
    assert sys.getrefcount(memory) == before
    for _ in range(100):
        dnnl.Memory(D((1_000_000,), F32), engine).zero(stream)
    stream.wait()
