# SPDX-License-Identifier: Apache-2.0
"""Sizes and offsets whose sums overflow 64 bits are refused."""

import dpctl.memory
import pytest
from arrays import F32, D

from sycl_dnn import InvalidArguments, _core
from sycl_dnn import graph as sg

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
    """An unknown stride is the most negative number, of which 32 bits make nothing."""
    usm = dpctl.memory.MemoryUSMDevice(256, queue=queue)
    x = sg.LogicalTensor(0, "f32", (2, 3), strides=(None, 1))
    with pytest.raises(InvalidArguments, match="must have known strides"):
        _core.GraphTensor(x, engine, usm, 0, usm, True)
    y = sg.LogicalTensor(1, "f32", (2, 3))
    partition = sg.Partition(sg.Op(0, "ReLU", [x], [y]), engine.kind.name)
    with pytest.raises(InvalidArguments, match="known shapes and strides"):
        partition.compile([x], [y], engine)
