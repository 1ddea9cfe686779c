# SPDX-License-Identifier: Apache-2.0
"""Memory: shared with arrays, never copied; what does not fit is refused; nothing can change."""

import gc
import weakref
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import InvalidArguments, OutOfMemory
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
D = dnnl.MemoryDesc
F32 = T.f32


@pytest.fixture
def zeros(engine):
    def make(*shape, dtype="f4", **options):
        return dpnp.zeros(shape, dtype=dtype, sycl_queue=engine.sycl_queue, **options)

    return make


@pytest.fixture
def grid(engine):
    """4 x 6 x 5 consecutive numbers."""
    return dpnp.arange(120, dtype="f4", sycl_queue=engine.sycl_queue).reshape((4, 6, 5))


def usm(array):
    return array.get_array() if hasattr(array, "get_array") else array


def doubled(memory, stream):
    """The values that oneDNN sees in a memory, times two."""
    dst = dnnl.Memory(D(memory.desc.dims, F32), stream.engine)
    pd = dnnl.sum(stream.engine, scales=[2.0], srcs=[memory.desc], dst=dst.desc)
    dnnl.Primitive(pd).execute(stream, {"multiple_src_0": memory, "dst": dst}).wait()
    return dst.to_array().asnumpy()


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
def test_allocation_is_of_the_kind_asked_for(kind, engine):
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


#: data type: dtype of the array that carries it
RAW = {"bf16": "u2", "f8_e5m2": "u1", "f8_e4m3": "u1", "e8m0": "u1", "f16": "f2", "s64": "i8"}


@pytest.mark.parametrize("name", RAW)
def test_types_without_a_dtype_ride_in_integers(name, zeros, engine):
    array = zeros(3, 4, dtype=RAW[name])
    memory = dnnl.Memory.from_array(array, engine, T[name])
    assert memory.desc == D((3, 4), T[name])
    assert memory.to_array().dtype == array.dtype
    with pytest.raises(InvalidArguments, match=f"must have dtype .* to hold {name}, got float32"):
        dnnl.Memory.from_array(zeros(3, 4), engine, T[name])


def test_bf16_bits_are_the_upper_half_of_f32(zeros, engine, stream):
    bits = np.array([0x3F80, 0xC020, 0x7F80, 0x0000], "u2")
    memory = dnnl.Memory.from_array(
        dpnp.asarray(bits, sycl_queue=engine.sycl_queue), engine, T.bf16
    )
    dst = dnnl.Memory(D((4,), F32), engine)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=memory.desc, dst=dst.desc))
    reorder.execute(stream, {"src": memory, "dst": dst}).wait()
    assert dst.to_array().asnumpy().tolist() == [1.0, -2.5, np.inf, 0.0]


@pytest.mark.parametrize(("name", "low"), [("s4", -8), ("u4", 0)])
def test_half_bytes_lie_two_in_a_byte_low_half_first(name, low, engine, stream):
    values = np.arange(low, low + 16, dtype="f4").reshape(2, 8)
    source = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)
    packed = dnnl.Memory(D((2, 8), T[name]), engine)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=source.desc, dst=packed.desc))
    reorder.execute(stream, {"src": source, "dst": packed}).wait()
    got = packed.to_array().asnumpy()
    nibbles = values.astype("i1").astype("u1").reshape(-1, 2) & 15
    assert (got.shape, got.dtype) == ((8,), np.uint8)
    np.testing.assert_array_equal(got, nibbles[:, 0] | nibbles[:, 1] << 4)
    with pytest.raises(InvalidArguments, match="two in a byte"):
        dnnl.desc_of_array(packed.to_array(), T[name])


def test_sparse_memory_takes_a_list(engine, stream, zeros):
    dense = np.zeros((4, 6), "f4")
    dense[0, 1], dense[2, 0], dense[2, 5], dense[3, 3] = 1, 2, 3, 4
    d = D.csr((4, 6), F32, 4, T.s32, T.s32)
    lists = [
        np.array([1, 2, 3, 4], "f4"),
        np.array([1, 0, 5, 3], "i4"),
        np.array([0, 1, 1, 3, 4], "i4"),
    ]
    arrays = [dpnp.asarray(a, sycl_queue=engine.sycl_queue) for a in lists]
    src = dnnl.Memory(d, engine, arrays)
    assert src.owner == arrays
    for i, array in enumerate(arrays):
        assert usm(src.to_array(i))._pointer == usm(array)._pointer
        np.testing.assert_array_equal(src.to_array(i).asnumpy(), lists[i])
    weights = dnnl.Memory.from_array(zeros(6, 3) + 1, engine)
    dst = dnnl.Memory(D((4, 3), F32), engine)
    pd = dnnl.matmul(engine, src=d, weights=weights.desc, dst=dst.desc, allow_empty=True)
    if pd is not None:
        args = {"src": src, "weights": weights, "dst": dst}
        dnnl.Primitive(pd).execute(stream, args).wait()
        np.testing.assert_allclose(dst.to_array().asnumpy(), dense @ np.ones((6, 3)))
    assert [dnnl.Memory(d, engine).to_array(i).shape for i in range(3)] == [(4,), (4,), (5,)]


SCALARS = {
    "f32": (1.5, "f4"), "f16": (-2.0, "f2"), "f64": (0.1, "f8"), "s32": (-7, "i4"),
    "s64": (2**40, "i8"), "s8": (-128, "i1"), "u8": (255, "u1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize(
    "wrap", [lambda v: v, np.asarray, np.float64], ids=["python", "0d", "numpy"]
)
def test_host_scalar_is_given_by_value(name, wrap):
    value, dtype = SCALARS[name]
    memory = dnnl.Memory(D.host_scalar(T[name]), wrap(value))
    assert memory.owner == np.asarray(value, dtype).tobytes()
    assert memory.pointer == 0
    assert not memory.writable
    with pytest.raises(InvalidArguments, match="must not be a host scalar"):
        memory.to_array()


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F80), (-2.5, 0xC020), (np.inf, 0x7F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82)],
)
def test_bf16_host_scalar_rounds_to_nearest_even(value, bits):
    assert dnnl.Memory(D.host_scalar(T.bf16), value).owner == np.uint16(bits).tobytes()


BAD_SCALARS = {
    "range": ("s8", 300, InvalidArguments, r"integer in \[-128, 127\], got 300"),
    "negative": ("u8", -1, InvalidArguments, r"integer in \[0, 255\], got -1"),
    "fraction": ("s32", 1.5, InvalidArguments, "s32 must be an integer"),
    "nan": ("s32", np.nan, InvalidArguments, "s32 must be an integer"),
    "type": ("f8_e4m3", 1.0, InvalidArguments, "must not have data type f8_e4m3"),
    "list": ("f32", [1.0, 2.0], TypeError, "must be a number"),
    "text": ("f32", "1", TypeError, "must be a number"),
    "nothing": ("f32", None, TypeError, "must be a number"),
}


@pytest.mark.parametrize("case", BAD_SCALARS)
def test_wrong_host_scalar_is_refused(case):
    name, value, error, text = BAD_SCALARS[case]
    with pytest.raises(error, match=text):
        dnnl.Memory(D.host_scalar(T[name]), value)


CSR = D.csr((4, 6), F32, 4, T.s32, T.s32)
#: descriptor, array(s) from zeros, what the message says
WRONG = {
    "dtype": (D((3,), F32), lambda z: z(3, dtype="i4"), "must have dtype float32 to hold f32"),
    "strides": (D((3, 4), F32), lambda z: z(4, 3).T, r"laid out as desc says .*strides \(1, 3\)"),
    "steps in one dimension": (D((5,), F32), lambda z: z(10)[::2], r"got strides \(2,\)"),
    "blocked": (D((1, 16, 2, 2), F32, "nChw16c"), lambda z: z(1, 16, 2, 2), "pass a flat array"),
    "other shape with gaps": (D((12,), F32), lambda z: z(4, 6)[:, ::2], "or be contiguous"),
    "too small": (D((4, 6), F32), lambda z: z(23), "must hold 96 bytes, got 92"),
    "beyond the view": (D((20,), F32), lambda z: z(100)[:10], "must hold 80 bytes, got 40"),
    "view of a part": (
        D((4, 6), F32).submemory_desc((2, 3), (1, 2)), lambda z: z(4, 6)[:2, :3], "as desc says",
    ),
    "half bytes": (D((3, 6), T.s4), lambda z: z(8, dtype="u1"), "must hold 9 bytes, got 8"),
    "any": (D((2, 3), F32, "any"), lambda z: z(2, 3), "desc must say the layout .* any"),
    "any, allocated": (D((2, 3), F32, "any"), lambda z: None, "desc must say the layout"),
    "absent": (D(), lambda z: z(3), "desc must say the layout .* absent"),
    "runtime": (D((dnnl.RUNTIME_DIM_VAL, 3), F32, "ab"), lambda z: z(6), "say all dimensions"),
    "runtime, allocated": (D((dnnl.RUNTIME_DIM_VAL, 3), F32, "ab"), lambda z: None, "say all dim"),
    "runtime strides": (
        D((2, 3), F32, strides=(dnnl.RUNTIME_DIM_VAL, 1)), lambda z: None, "dimensions and strides",
    ),
    "csr, one array": (CSR, lambda z: z(4), "needs 3 buffers, got 1"),
    "csr, two arrays": (CSR, lambda z: [z(4), z(4, dtype="i4")], "needs 3 buffers, got 2"),
    "csr, index type": (
        CSR, lambda z: [z(4), z(4, dtype="i8"), z(5, dtype="i4")], "int32 to hold s32, got int64",
    ),
    "csr, short": (
        CSR, lambda z: [z(4), z(4, dtype="i4"), z(4, dtype="i4")], "must hold 20 bytes, got 16",
    ),
    "csr, steps": (
        CSR, lambda z: [z(8)[::2], z(4, dtype="i4"), z(5, dtype="i4")], "or be contiguous",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_misfitting_array_is_refused(case, zeros, engine):
    d, make, text = WRONG[case]
    with pytest.raises(InvalidArguments, match=text):
        dnnl.Memory(d, engine, make(zeros))


def test_dpctl_memory_must_be_large_enough(engine):
    buffer = dpctl.memory.MemoryUSMDevice(100, queue=engine.sycl_queue)
    with pytest.raises(InvalidArguments, match="must hold 104 bytes behind its offset, got 100"):
        dnnl.Memory(D((26,), F32), engine, buffer)


@pytest.mark.parametrize("dtype", ["c8", "u2", "u4", "?"])
def test_dtype_unknown_to_onednn_is_refused(dtype, zeros, engine):
    with pytest.raises(InvalidArguments, match="dtype that oneDNN knows .*got"):
        dnnl.Memory.from_array(zeros(3, dtype=dtype), engine)


def test_negative_strides_are_refused(grid, engine):
    with pytest.raises(InvalidArguments, match="strides must not be negative .copy the array"):
        dnnl.Memory.from_array(grid[::-1], engine)


@pytest.mark.parametrize("array", [np.zeros(3, "f4"), [1, 2, 3], 3.0, "array", b"123"], ids=repr)
def test_what_is_no_usm_array_is_a_type_error(array, engine):
    with pytest.raises(TypeError, match="array must be a dpnp.ndarray"):
        dnnl.Memory(D((3,), F32), engine, array)
    with pytest.raises(TypeError, match="array must be a dpnp.ndarray or usm_ndarray, got"):
        dnnl.Memory.from_array(array, engine)


def test_desc_and_engine_are_checked(engine, zeros):
    with pytest.raises(TypeError, match="desc must be a MemoryDesc, got tuple"):
        dnnl.Memory((3,), engine, zeros(3))
    for wrong in (None, engine.sycl_queue, "cpu"):
        with pytest.raises(TypeError, match="engine must be an Engine"):
            dnnl.Memory(D((3,), F32), wrong, zeros(3))
    with pytest.raises(InvalidArguments, match="usm_type must be one of .*got 'pinned'"):
        dnnl.Memory(D((3,), F32), engine, usm_type="pinned")
    with pytest.raises(InvalidArguments, match="data_type must be one that arrays can hold"):
        dnnl.desc_of_array(zeros(3), "f32")


def test_array_of_another_context_is_refused(engine):
    context = dpctl.SyclContext([engine.sycl_device])
    foreign = dpctl.SyclQueue(context, engine.sycl_device)
    array = dpnp.zeros((3,), dtype="f4", sycl_queue=foreign)
    with pytest.raises(ExecutionPlacementError, match="in the context of the engine"):
        dnnl.Memory.from_array(array, engine)
    assert dnnl.Memory.from_array(array, dnnl.Engine(foreign)).to_array().shape == (3,)


def test_array_of_another_queue_in_the_context_is_fine(engine):
    other = dpctl.SyclQueue(engine.sycl_context, engine.sycl_device)
    array = dpnp.zeros((3,), dtype="f4", sycl_queue=other)
    assert dnnl.Memory.from_array(array, engine).pointer == usm(array)._pointer


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_absurd_size_is_out_of_memory_and_harmless(kind, engine, stream, grid):
    before = dnnl.Memory.from_array(grid, engine)
    for shape in ((2**42,), (2**60,)):
        with pytest.raises(OutOfMemory, match=f"no {4 * shape[0]} bytes of {kind} memory") as error:
            dnnl.Memory(D(shape, F32), engine, usm_type=kind)
        assert isinstance(error.value, MemoryError)
        assert error.value.status is dnnl.status.out_of_memory
    np.testing.assert_array_equal(doubled(before, stream), 2 * grid.asnumpy())
    assert dnnl.Memory(D((3,), F32), engine, usm_type=kind).to_array().shape == (3,)


def test_memory_cannot_be_changed(grid, engine):
    memory = dnnl.Memory.from_array(grid, engine)
    for name in ("desc", "owner", "writable", "pointer", "anything"):
        with pytest.raises(AttributeError):
            setattr(memory, name, None)
    assert not [n for n in dir(memory) if n.startswith("set_")]


def test_owner_is_kept_alive(engine, stream):
    array = usm(dpnp.arange(1000, dtype="f4", sycl_queue=engine.sycl_queue))
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


def test_owner_is_let_go_with_the_memory(engine):
    array = usm(dpnp.zeros((10,), dtype="f4", sycl_queue=engine.sycl_queue))
    watched = weakref.ref(array)
    memory = dnnl.Memory.from_array(array, engine)
    del array, memory
    gc.collect()
    assert watched() is None


def resident_kib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_wrapping_100_mb_takes_no_memory(engine):
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
