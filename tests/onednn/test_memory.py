# SPDX-License-Identifier: Apache-2.0
"""Memory: shared with arrays, never copied, kept alive, immutable."""

import gc
import weakref
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from arrays import F32, D, T, doubled, usm

from sycl_dnn import InvalidArguments, synchronize
from sycl_dnn import onednn as dnnl

VIEWS = {
    "whole": lambda a: a,
    "offset": lambda a: a[1:, 2:, 1:],
    "steps": lambda a: a[::2, ::3],
    "transposed": lambda a: a.transpose((2, 1, 0)),
    "permuted": lambda a: a.transpose((0, 2, 1)),
    "row": lambda a: a[2, 3],
    "column": lambda a: a[:, 1, 1],
    "one element": lambda a: a[1:2, 1:2, 1:2],
    "broadcast": lambda a: dpnp.broadcast_to(a[:1], a.shape),
    "new axis": lambda a: a[:, None, :, 2],
}


@pytest.mark.parametrize("kind", ["dpnp", "usm_ndarray"])
@pytest.mark.parametrize("view", VIEWS)
def test_array_is_shared_in_its_own_layout(view, kind, grid, engine, stream):
    array = VIEWS[view](grid)
    memory = dnnl.Memory.from_array(array if kind == "dpnp" else usm(array), engine)
    assert memory.pointer == usm(array)._pointer
    assert memory.desc == dnnl.desc_of_array(array)
    assert memory.desc.dims == array.shape
    back = memory.to_array()
    assert isinstance(back, dpnp.ndarray)
    assert usm(back)._pointer == memory.pointer
    assert (back.shape, back.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(back.asnumpy(), array.asnumpy())
    np.testing.assert_array_equal(doubled(memory, stream), 2 * array.asnumpy())


@pytest.mark.parametrize("view", ["whole", "offset", "steps", "transposed"])
def test_writing_one_shows_in_the_other(view, grid, engine, stream):
    array = VIEWS[view](grid)
    back = dnnl.Memory.from_array(array, engine).to_array()
    array[...] = -7.0
    engine.sycl_queue.wait()
    assert (back.asnumpy() == -7.0).all()
    back[0] = -9.0
    engine.sycl_queue.wait()
    assert (array[0].asnumpy() == -9.0).all()
    assert int((grid == -9.0).sum()) == array[0].size


def test_0d_array_counts_as_one_element(engine):
    memory = dnnl.Memory.from_array(
        dpnp.asarray(3.0, dtype="f4", sycl_queue=engine.sycl_queue), engine
    )
    assert memory.desc.dims == (1,)
    assert memory.to_array().asnumpy().tolist() == [3.0]


@pytest.mark.parametrize("view", ["read-only", "broadcast", "read-only slice"])
def test_read_only_stays_read_only(view, grid, engine, stream):
    grid.flags.writable = view == "broadcast"
    array = {"broadcast": VIEWS["broadcast"](grid), "read-only": grid}.get(view, grid[1:])
    memory = dnnl.Memory.from_array(array, engine)
    assert not memory.writable
    assert not memory.to_array().flags.writable
    with pytest.raises(ValueError, match="read-only"):
        memory.to_array()[...] = 1.0
    np.testing.assert_array_equal(doubled(memory, stream), 2 * array.asnumpy())


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_dpctl_memory_is_shared(kind, engine):
    cls = getattr(dpctl.memory, f"MemoryUSM{kind.title()}")
    buffer = cls(100, queue=engine.sycl_queue)
    buffer.copy_from_host(np.arange(100, dtype="u1"))
    memory = dnnl.Memory(D((5, 5), F32), engine, buffer)
    assert memory.pointer == buffer._pointer
    assert memory.owner == [buffer]
    assert memory.writable
    expected = np.arange(100, dtype="u1").view("f4").reshape(5, 5)
    np.testing.assert_array_equal(memory.to_array().asnumpy(), expected)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_allocation_has_the_requested_kind(kind, engine):
    memory = dnnl.Memory(D((3, 4), F32), engine, usm_type=kind)
    assert memory.writable
    assert memory.to_array().usm_type == kind
    assert memory.to_array().shape == (3, 4)
    assert usm(memory.to_array()).usm_data.sycl_context == engine.sycl_context


def test_default_allocation_is_device_memory(engine):
    assert dnnl.Memory(D((3, 4), F32), engine).to_array().usm_type == "device"


ALLOCATED = {
    "strided": D((2, 3), F32, strides=(8, 2)),
    "view": D((4, 6), F32).submemory_desc((2, 3), (1, 2)),
    "outer size 1": D((1, 3), F32, strides=(100, 7)),
    "broadcast": D((4, 3), F32, strides=(0, 1)),
    "empty": D((2, 0, 3), F32),
    "f64": D((3,), T.f64),
}


@pytest.mark.parametrize("case", ALLOCATED)
def test_allocation_covers_the_layout(case, engine):
    d = ALLOCATED[case]
    memory = dnnl.Memory(d, engine)
    array = memory.to_array()
    assert array.shape == d.dims
    assert memory.owner[0].nbytes >= d.extent
    if 0 not in d.strides:
        array[...] = 1.0
        assert (array.asnumpy() == 1).all()


def test_flat_array_holds_another_layout(zeros, engine, stream):
    d = D((1, 17, 2, 2), F32, "nChw16c")
    raw = zeros(128)
    memory = dnnl.Memory(d, engine, raw)
    values = np.arange(68, dtype="f4").reshape(1, 17, 2, 2)
    source = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)
    reorder = dnnl.reorder(engine, src=source.desc, dst=d)
    dnnl.Primitive(reorder).execute(stream, {"src": source, "dst": memory}).wait()
    blocked = raw.asnumpy().reshape(2, 2, 2, 16).transpose(0, 3, 1, 2).reshape(32, 2, 2)
    np.testing.assert_array_equal(blocked[:17], values[0])
    assert (blocked[17:] == 0).all()
    with pytest.raises(InvalidArguments, match="layout must be plain, got f32 .* aBcd16b; reorder"):
        memory.to_array()


def test_view_of_a_whole_array_starts_at_its_offset(grid, engine, stream):
    whole = dnnl.desc_of_array(grid)
    part = whole.submemory_desc((2, 3, 4), (1, 2, 1))
    memory = dnnl.Memory(part, engine, grid)
    expected = grid[1:3, 2:5, 1:5].asnumpy()
    np.testing.assert_array_equal(memory.to_array().asnumpy(), expected)
    np.testing.assert_array_equal(doubled(memory, stream), 2 * expected)


def test_array_of_another_queue_in_the_context_is_fine(engine):
    other = dpctl.SyclQueue(engine.sycl_context, engine.sycl_device)
    array = dpnp.zeros((3,), dtype="f4", sycl_queue=other)
    assert dnnl.Memory.from_array(array, engine).pointer == usm(array)._pointer


def test_memory_cannot_be_changed(grid, engine):
    memory = dnnl.Memory.from_array(grid, engine)
    for name in ("desc", "owner", "writable", "pointer", "anything"):
        with pytest.raises(AttributeError):
            setattr(memory, name, None)
    changes = {n for n in dir(memory) if n.startswith("set_")}
    assert changes == {"set_data_handle", "set_host_scalar_value"}


@pytest.mark.slow
def test_owner_is_kept_alive(engine, stream):
    array = usm(dpnp.arange(1000, dtype="f4", sycl_queue=engine.sycl_queue))
    synchronize(engine.sycl_queue)
    watched = weakref.ref(array)
    memory = dnnl.Memory.from_array(array, engine)
    del array
    gc.collect()
    assert watched() is not None
    for _ in range(10):  # whatever is free now gets overwritten
        dpnp.full((1000,), -1.0, dtype="f4", sycl_queue=engine.sycl_queue)
    np.testing.assert_array_equal(doubled(memory, stream), 2 * np.arange(1000))
    back = memory.to_array()
    del memory
    gc.collect()
    np.testing.assert_array_equal(back.asnumpy(), np.arange(1000))


@pytest.mark.slow
def test_the_owner_is_released_with_the_memory(engine):
    array = usm(dpnp.zeros((10,), dtype="f4", sycl_queue=engine.sycl_queue))
    watched = weakref.ref(array)
    memory = dnnl.Memory.from_array(array, engine)
    del array, memory
    gc.collect()
    assert watched() is None


def resident_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_wrapping_100_mb_allocates_nothing(engine):
    array = dpnp.ones((25, 1_000_000), dtype="f4", sycl_queue=engine.sycl_queue)
    engine.sycl_queue.wait()
    dnnl.Memory.from_array(array, engine)
    before = resident_kib()
    memories = [dnnl.Memory.from_array(array, engine) for _ in range(100)]
    backs = [memory.to_array() for memory in memories]
    assert resident_kib() - before < 5_000
    assert len({usm(b)._pointer for b in backs}) == 1


def test_empty_array_can_be_wrapped(zeros, engine):
    for shape in ((0,), (2, 0), (0, 3, 4)):
        memory = dnnl.Memory.from_array(zeros(*shape), engine)
        assert memory.to_array().shape == shape
        assert memory.desc.size == 0


def test_repr_says_what_it_is(zeros, engine):
    text = repr(dnnl.Memory.from_array(zeros(2, 3), engine))
    assert text.startswith("<Memory f32 (2, 3) ab at 0x")
