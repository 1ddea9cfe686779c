# SPDX-License-Identifier: Apache-2.0
"""set_data_handle with all checks, map_data, numbers of host scalars, USM of other libraries."""

import gc
import weakref

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from filled_memory import desc

import sycl_dnn
from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

F32 = dnnl.MemoryDesc((2, 3), "f32")


def values(engine, start=0, shape=(2, 3)):
    n = int(np.prod(shape))
    result = np.arange(start, start + n, dtype=np.float32).reshape(shape)
    array = dpnp.asarray(result, sycl_queue=engine.sycl_queue)
    sycl_dnn.synchronize(engine.sycl_queue)
    return array, result


def doubling(engine, d):
    return dnnl.Primitive(
        dnnl.eltwise_forward(
            engine,
            prop_kind="forward_inference",
            algorithm="eltwise_linear",
            src=d,
            dst=d,
            alpha=2.0,
        )
    )


# --- set_data_handle


def test_set_data_handle_moves_a_memory(engine, stream):
    (first, _), (second, expected) = values(engine), values(engine, 10)
    src, dst = dnnl.Memory(F32, engine, first), dnnl.Memory(F32, engine)
    src.set_data_handle(second)
    assert src.pointer == src.get_data_handle() == second.get_array()._pointer
    assert src.owner[0] is second
    double = doubling(engine, F32)
    double.execute(stream, {"src": src, "dst": dst}).wait()
    assert (dpnp.asnumpy(dst.to_array()) == 2 * expected).all()


WRONG = {
    "dtype": (
        lambda q: dpnp.zeros((2, 3), dtype="i4", sycl_queue=q),
        "array must have dtype float32",
    ),
    "size": (lambda q: dpnp.zeros(5, dtype="f4", sycl_queue=q), "array must hold 24 bytes, got 20"),
    "strides": (lambda q: dpnp.zeros((3, 2), dtype="f4", sycl_queue=q).T, "array must be laid out"),
    "bytes": (lambda q: dpctl.memory.MemoryUSMDevice(20, queue=q), "array must hold 24 bytes"),
}


@pytest.mark.parametrize(("make", "words"), WRONG.values(), ids=WRONG)
def test_set_data_handle_checks_as_a_new_memory_does(make, words, engine):
    array, _ = values(engine)
    memory = dnnl.Memory(F32, engine, array)
    with pytest.raises(InvalidArguments, match=words):
        memory.set_data_handle(make(engine.sycl_queue))
    with pytest.raises(InvalidArguments, match="index must be below 1, got 1"):
        memory.set_data_handle(array, 1)
    with pytest.raises(TypeError, match="array must be a dpnp.ndarray"):
        memory.set_data_handle(memory.pointer)
    assert memory.owner[0] is array


def test_set_data_handle_keeps_read_only_arrays_from_being_written(engine, stream):
    array, _ = values(engine)
    src, dst = dnnl.Memory(F32, engine, array), dnnl.Memory(F32, engine)
    frozen = dpnp.zeros((2, 3), dtype="f4", sycl_queue=engine.sycl_queue)
    frozen.flags["W"] = False
    dst.set_data_handle(frozen)
    with pytest.raises(InvalidArguments, match="dst must be writable"):
        doubling(engine, F32).execute(stream, {"src": src, "dst": dst})


@pytest.mark.slow
def test_executions_keep_the_array_that_they_were_submitted_with(engine):
    """Events that are chained: each execution reads its own array, however late it runs."""
    d = desc(64, 1024)
    queue = dpctl.SyclQueue(engine.sycl_context, engine.sycl_device)
    stream, double = dnnl.Stream(engine, queue), doubling(engine, d)
    src = dnnl.Memory(d, engine)
    src.zero(stream).wait()
    results, alive = [], []
    for number in range(40):
        array = dpnp.full((64, 1024), number, dtype="f4", sycl_queue=engine.sycl_queue)
        sycl_dnn.synchronize(engine.sycl_queue)
        owner = Foreign(array)
        src.set_data_handle(owner)
        results.append(dnnl.Memory(d, engine))
        double.execute(stream, {"src": src, "dst": results[-1]})
        alive.append(weakref.ref(owner))
        del array, owner
    stream.wait()
    for number, result in enumerate(results):
        assert (dpnp.asnumpy(result.to_array()) == 2 * number).all()
    gc.collect()
    assert sum(one() is not None for one in alive) == 1, "the last one, which the memory holds"


def test_parts_keep_the_array_that_they_were_made_of(engine):
    (first, _), (second, _) = values(engine), values(engine, 10)
    whole = dnnl.Memory(F32, engine, first)
    part = whole.submemory((1, 3), (1, 0))
    whole.set_data_handle(second)
    assert part.pointer == first.get_array()._pointer


def test_a_buffer_of_a_sparse_tensor(engine):
    def part(numbers, dtype):
        return dpnp.asarray(np.array(numbers, dtype), sycl_queue=engine.sycl_queue)

    d = dnnl.MemoryDesc.csr((2, 3), "f32", 2, "s32", "s32")
    arrays = [part([1, 2], "f4"), part([0, 2], "i4"), part([0, 1, 2], "i4")]
    memory, other = dnnl.Memory(d, engine, arrays), part([5, 6], "f4")
    memory.set_data_handle(other, 0)
    handles = [memory.get_data_handle(i) for i in range(3)]
    assert handles == [a.get_array()._pointer for a in (other, *arrays[1:])]
    with pytest.raises(InvalidArguments, match="array must have dtype int32"):
        memory.set_data_handle(other, 1)


# --- host scalars


@pytest.mark.parametrize(
    ("dtype", "first", "second"), [("f32", 0.5, -3.25), ("s32", 7, -8), ("bf16", 1.5, 2.0)]
)
def test_numbers_of_host_scalars(dtype, first, second):
    memory = dnnl.Memory(dnnl.MemoryDesc.host_scalar(dtype), first)
    assert memory.get_host_scalar_value() == first
    memory.set_host_scalar_value(second)
    assert memory.get_host_scalar_value() == second


def test_host_scalar_refuses_unrepresentable_values(engine):
    memory = dnnl.Memory(dnnl.MemoryDesc.host_scalar("u8"), 7)
    with pytest.raises(InvalidArguments, match=r"must be an integer in \[0, 255\], got 256"):
        memory.set_host_scalar_value(256)
    with pytest.raises(InvalidArguments, match="must not be a host scalar"):
        memory.set_data_handle(dpnp.zeros(1, dtype="u1"))
    plain = dnnl.Memory(F32, engine)
    with pytest.raises(InvalidArguments, match="memory must be a host scalar, got"):
        plain.get_host_scalar_value()
    with pytest.raises(InvalidArguments, match="memory must be a host scalar, got"):
        plain.set_host_scalar_value(1)


# --- map_data


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_mapped_memory_is_read_and_written_on_the_host(usm_type, engine):
    memory = dnnl.Memory(F32, engine, usm_type=usm_type)
    mapped = memory.map_data()
    assert (mapped.shape, mapped.dtype) == ((2, 3), np.float32)
    mapped[:] = [[1, 2, 3], [4, 5, 6]]
    memory.unmap_data(mapped)
    assert dpnp.asnumpy(memory.to_array()).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_mapping_of_a_part_and_of_a_blocked_layout(engine):
    array, expected = values(engine, shape=(4, 5))
    part = dnnl.Memory(dnnl.MemoryDesc((4, 5), "f32"), engine, array).submemory((2, 3), (1, 2))
    mapped = part.map_data()
    assert (mapped == expected[1:3, 2:]).all()
    mapped[:] = -1
    part.unmap_data(mapped)
    expected[1:3, 2:] = -1
    assert (dpnp.asnumpy(array) == expected).all()
    blocked = dnnl.Memory(dnnl.MemoryDesc((1, 3, 2, 2), "f32", "aBcd8b"), engine)
    flat = blocked.map_data()
    assert (flat.dtype, flat.size) == (np.uint8, blocked.desc.size)
    blocked.unmap_data(flat)


def test_mappings_are_kept_apart(engine):
    memory = dnnl.Memory(F32, engine)
    mapped = memory.map_data()
    with pytest.raises(InvalidArguments, match="unmap_data must end the mapping before this one"):
        memory.map_data()
    with pytest.raises(InvalidArguments, match="mapped must be what map_data of this buffer"):
        memory.unmap_data(np.zeros((2, 3)))
    memory.unmap_data(mapped)
    with pytest.raises(InvalidArguments, match="mapped must be what map_data of this buffer"):
        memory.unmap_data(mapped)
    with pytest.raises(InvalidArguments, match="memory must have a buffer"):
        dnnl.Memory(dnnl.MemoryDesc.host_scalar("f32"), 1.0).map_data()


# --- other libraries


class Foreign:
    """An array of another library, which has only the interface."""

    def __init__(self, array):
        self.array = array

    @property
    def __sycl_usm_array_interface__(self):
        return self.array.__sycl_usm_array_interface__


def test_objects_with_the_usm_array_interface_are_accepted(engine, stream):
    array, expected = values(engine)
    src = dnnl.Memory.from_array(Foreign(array), engine)
    assert (src.desc, src.pointer) == (F32, array.get_array()._pointer)
    dst = dnnl.Memory(F32, engine)
    doubling(engine, F32).execute(stream, {"src": src, "dst": dst}).wait()
    assert (dpnp.asnumpy(dst.to_array()) == 2 * expected).all()
    src.set_data_handle(Foreign(dst.to_array()))
    assert src.pointer == dst.pointer


def test_memory_has_the_usm_array_interface_and_dlpack(engine):
    array, expected = values(engine)
    memory = dnnl.Memory.from_array(array, engine)
    assert memory.__sycl_usm_array_interface__["data"][0] == memory.pointer
    assert dnnl.Memory.from_array(memory, engine).pointer == memory.pointer
    taken = dpnp.from_dlpack(memory, device=engine.sycl_queue)
    assert taken.get_array()._pointer == memory.pointer
    assert (dpnp.asnumpy(taken) == expected).all()
    blocked = dnnl.Memory(dnnl.MemoryDesc((1, 3, 2, 2), "f32", "aBcd8b"), engine)
    with pytest.raises(InvalidArguments, match="layout must be plain"):
        dpnp.from_dlpack(blocked)


def _is_shared(seen, memory):
    """Whether a NumPy array reflects later writes to the memory."""
    memory.to_array()[0, 0] = 77
    memory.to_array().sycl_queue.wait()
    return seen[0, 0] == 77


@pytest.mark.parametrize("kind", ["device", "shared"])
def test_numpy_reads_memory_of_the_cpu_by_dlpack(kind, engine):
    array, expected = values(engine)
    memory = dnnl.Memory(F32, engine, usm_type=kind)
    memory.to_array()[...] = array
    if engine.sycl_device.is_cpu:
        assert memory.__dlpack_device__() == (1, 0)
        seen = np.from_dlpack(memory)
        assert (seen == expected).all()
        copied = np.from_dlpack(memory, copy=True)
        assert _is_shared(seen, memory)
        assert not (copied == 77).any()
    else:
        assert memory.__dlpack_device__() == memory.to_array().__dlpack_device__()
    provided = dpnp.from_dlpack(memory, device=engine.sycl_queue)
    assert provided.get_array()._pointer == memory.pointer


def test_numpy_copies_memory(engine):
    array, expected = values(engine)
    memory = dnnl.Memory.from_array(array, engine)
    actual = np.asarray(memory)
    assert actual.dtype == np.float32
    assert (actual == expected).all()
    assert not _is_shared(actual, memory)
    assert np.asarray(memory, "f8").dtype == np.float64
    with pytest.raises(ValueError, match="copy must not be False"):
        np.asarray(memory, copy=False)
    blocked = dnnl.Memory(dnnl.MemoryDesc((1, 3, 2, 2), "f32", "aBcd8b"), engine)
    with pytest.raises(InvalidArguments, match="layout must be plain"):
        np.asarray(blocked)


def test_torch_reads_memory_of_the_cpu():
    torch = pytest.importorskip("torch")
    memory = dnnl.Memory(F32, dnnl.Engine("cpu"))
    seen = torch.from_dlpack(memory)
    assert (seen.shape, seen.data_ptr()) == (F32.dims, memory.pointer)


# --- what is counted and sized


def test_engines_are_counted():
    devices = dpctl.get_devices(device_type="cpu")
    assert dnnl.Engine.get_count("cpu") == dnnl.Engine.count("cpu") == min(len(devices), 1)
    assert dnnl.Engine.get_count(dnnl.engine_kind.gpu) == 0 or dpctl.has_gpu_devices()


def test_sizes_of_data_types():
    sizes = {"f32": 4, "bf16": 2, "u8": 1, "f8_e5m2": 1, "s64": 8, "f64": 8}
    assert {name: dnnl.data_type_size(name) for name in sizes} == sizes


def test_streams_say_their_flags(engine):
    queue = dpctl.SyclQueue(engine.sycl_context, engine.sycl_device)
    assert dnnl.Stream(engine, queue).flags == dnnl.stream_flags.out_of_order
    ordered = dpctl.SyclQueue(engine.sycl_context, engine.sycl_device, property="in_order")
    assert dnnl.Stream(engine, ordered).flags == dnnl.stream_flags.in_order
    assert dnnl.Stream(engine, queue, ordered=True).flags == dnnl.stream_flags.in_order
