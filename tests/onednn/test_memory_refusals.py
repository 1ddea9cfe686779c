# SPDX-License-Identifier: Apache-2.0
"""Memory: arrays that do not fit are refused, with the rule and the value."""

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from arrays import F32, D, T, doubled
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import InvalidArguments, OutOfMemory, _core
from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl

NAMES = {"D": D, "F32": F32, "T": T, "OPEN": dnnl.RUNTIME_DIM_VAL,
         "CSR": D.csr((4, 6), F32, 4, T.s32, T.s32)}  # fmt: skip
#: Descriptors, arrays, and what the message says; z makes zeros of float32, i of int32.
WRONG = """
D((3,), F32) | i(3) | must have dtype float32 to hold f32
D((3, 4), F32) | z(4, 3).T | strides (1, 3)
D((5,), F32) | z(10)[::2] | got strides (2,)
D((1, 16, 2, 2), F32, "nChw16c") | z(1, 16, 2, 2) | pass a flat array
D((12,), F32) | z(4, 6)[:, ::2] | or be contiguous
D((4, 6), F32) | z(23) | must hold 96 bytes, got 92
D((20,), F32) | z(100)[:10] | must hold 80 bytes, got 40
D((4, 6), F32).submemory_desc((2, 3), (1, 2)) | z(4, 6)[:2, :3] | as desc says
D((3, 6), T.s4) | zeros(8, dtype="u1") | must hold 9 bytes, got 8
D((2, 3), F32, "any") | z(2, 3) | desc must say the layout
D((2, 3), F32, "any") | None | desc must say the layout
D() | z(3) | desc must say the layout
D((OPEN, 3), F32, "ab") | z(6) | say all dimensions
D((OPEN, 3), F32, "ab") | None | say all dimensions
D((2, 3), F32, strides=(OPEN, 1)) | None | dimensions and strides
CSR | z(4) | needs 3 buffers, got 1
CSR | [z(4), i(4)] | needs 3 buffers, got 2
CSR | [z(4), zeros(4, dtype="i8"), i(5)] | int32 to hold s32, got int64
CSR | [z(4), i(4), i(4)] | must hold 20 bytes, got 16
CSR | [z(8)[::2], i(4), i(5)] | or be contiguous
"""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_misfitting_array_is_refused(row, zeros, engine):
    desc, array, words = row.split(" | ")
    made = {"zeros": zeros, "z": zeros, "i": lambda *shape: zeros(*shape, dtype="i4")}
    with pytest.raises(InvalidArguments) as refusal:
        dnnl.Memory(eval(desc, dict(NAMES)), engine, eval(array, made))
    assert words in str(refusal.value)


def test_dpctl_memory_must_be_large_enough(engine):
    buffer = dpctl.memory.MemoryUSMDevice(100, queue=engine.sycl_queue)
    with pytest.raises(InvalidArguments, match="must hold 104 bytes after its offset, got 100"):
        dnnl.Memory(D((26,), F32), engine, buffer)


@pytest.mark.parametrize("dtype", ["c8", "u2", "u4", "?"])
def test_dtype_without_onednn_type_is_refused(dtype, zeros, engine):
    with pytest.raises(InvalidArguments, match="dtype that oneDNN knows .*got"):
        dnnl.Memory.from_array(zeros(3, dtype=dtype), engine)


def test_negative_strides_are_refused(grid, engine):
    with pytest.raises(InvalidArguments, match="strides must not be negative .copy the array"):
        dnnl.Memory.from_array(grid[::-1], engine)


@pytest.mark.parametrize("array", [np.zeros(3, "f4"), [1, 2, 3], 3.0, "array", b"123"], ids=repr)
def test_non_usm_array_is_a_type_error(array, engine):
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
    with pytest.raises(InvalidArguments, match="data_type must be one of .*f32.*, got 'float'"):
        dnnl.desc_of_array(zeros(3), "float")


def test_array_of_another_context_is_refused(engine):
    context = dpctl.SyclContext([engine.sycl_device])
    foreign = dpctl.SyclQueue(context, engine.sycl_device)
    array = dpnp.zeros((3,), dtype="f4", sycl_queue=foreign)
    with pytest.raises(ExecutionPlacementError, match="in the context of the engine"):
        dnnl.Memory.from_array(array, engine)
    assert dnnl.Memory.from_array(array, dnnl.Engine(foreign)).to_array().shape == (3,)


def test_array_of_another_subdevice_is_accepted():
    """A device and its parts share memory; of two GPUs tests/two_gpus shows the refusal."""
    cpu = dpctl.SyclDevice("cpu")
    part = cpu.create_sub_devices(partition=[cpu.max_compute_units])[0]
    context = dpctl.SyclContext([cpu, part])
    whole, other = (dpctl.SyclQueue(context, device) for device in (cpu, part))
    for theirs, ours in ((whole, other), (other, whole)):
        array = dpnp.ones((3,), dtype="f4", sycl_queue=theirs)
        assert dnnl.Memory.from_array(array, dnnl.Engine(ours)).to_array().shape == (3,)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_absurd_size_is_out_of_memory_and_harmless(kind, engine, stream, grid):
    before = dnnl.Memory.from_array(grid, engine)
    for shape in ((2**42,), (2**55,)):
        with pytest.raises(OutOfMemory, match=f"no {4 * shape[0]} bytes of {kind} memory") as error:
            dnnl.Memory(D(shape, F32), engine, usm_type=kind)
        assert isinstance(error.value, MemoryError)
        assert error.value.status is dnnl.status.out_of_memory
    np.testing.assert_array_equal(doubled(before, stream), 2 * grid.asnumpy())
    assert dnnl.Memory(D((3,), F32), engine, usm_type=kind).to_array().shape == (3,)


# --- Sizes and offsets whose sums overflow 64 bits


BEFORE_THE_START = 2**64 - 64


def test_memory_in_front_of_its_array(queue, engine):
    usm = dpctl.memory.MemoryUSMDevice(256, queue=queue)
    with pytest.raises(InvalidArguments, match="must hold 128 bytes after its offset, got 0"):
        _core.Memory(D((32,), F32), engine, [(usm, BEFORE_THE_START)], usm, True, False)


def test_tensor_in_front_of_its_array(queue, engine):
    usm = dpctl.memory.MemoryUSMDevice(256, queue=queue)
    x = sg.LogicalTensor(0, "f32", (32,))
    with pytest.raises(InvalidArguments, match="must hold 128 bytes after its offset, got 0"):
        _core.GraphTensor(x, engine, usm, BEFORE_THE_START, usm, True)


#: dims, strides: slightly more than 2**64 bytes, which wrap to a few
TOO_FAR = {
    "strides": ((2**32 + 1,), (2**32,), "strides must reach fewer than"),
    "dims": ((2**32, 2**32 + 1), None, "dims must stand for fewer than"),
}


@pytest.mark.parametrize("name", TOO_FAR)
def test_logical_tensors_whose_size_overflows(name):
    dims, strides, message = TOO_FAR[name]
    with pytest.raises(InvalidArguments, match=message):
        sg.LogicalTensor(0, "f32", dims, strides=strides)


def test_tensors_need_known_strides(queue, engine):
    """An unknown stride is the most negative number, whose lower 32 bits are 0."""
    usm = dpctl.memory.MemoryUSMDevice(256, queue=queue)
    x = sg.LogicalTensor(0, "f32", (2, 3), strides=(None, 1))
    with pytest.raises(InvalidArguments, match="must have known strides"):
        _core.GraphTensor(x, engine, usm, 0, usm, True)
    y = sg.LogicalTensor(1, "f32", (2, 3))
    partition = sg.Partition(sg.Op(0, "ReLU", [x], [y]), engine.kind.name)
    with pytest.raises(InvalidArguments, match="known shapes and strides"):
        partition.compile([x], [y], engine)
