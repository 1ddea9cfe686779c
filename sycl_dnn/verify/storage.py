# SPDX-License-Identifier: Apache-2.0
"""Tensors in device memory: written and read byte by byte, with everything around them watched.

An output's buffer starts out full of a pattern. Afterwards the elements are compared, padding of
blocked layouts must be 0, and gaps between strides and the bytes behind the end must still hold
the pattern.
"""

from __future__ import annotations

from typing import Any

import dpctl.memory
import numpy as np

from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import encoding, layout

GUARD = 64
#: A quiet NaN in f32, f16, bf16 and f8; an unlikely number in integers.
PATTERN = 0x7F


class Buffer:
    """A Memory with its bytes at hand.

    memory : sycl_dnn.onednn.Memory
    """

    def __init__(self, desc: Any, stream: Any, raw: np.ndarray | None = None) -> None:
        self.desc, self.stream = desc, stream
        self.nbytes = max(desc.size, desc.extent)
        full = np.full(self.nbytes + GUARD, PATTERN, dtype=np.uint8)
        if raw is not None:
            full[: len(raw)] = raw
        self.before = full
        self._usm = dpctl.memory.MemoryUSMDevice(len(full), queue=stream.sycl_queue)
        self._usm.copy_from_host(full)
        self.memory = dnnl.Memory(desc, stream.engine, self._usm)

    @property
    def usm(self) -> dpctl.memory.MemoryUSMDevice:
        """The memory itself, the guard included."""
        return self._usm

    def bytes(self) -> np.ndarray:
        """Return what the buffer holds, the guard included."""
        host = np.empty(self.nbytes + GUARD, dtype=np.uint8)
        self._usm.copy_to_host(host)
        return host


def _pack(codes: np.ndarray) -> np.ndarray:
    """4-bit codes, one in a byte -> two in a byte, low half first."""
    even = codes if len(codes) % 2 == 0 else np.append(codes, np.uint8(0))
    return even[0::2] | even[1::2] << 4


def _unpack(raw: np.ndarray) -> np.ndarray:
    return np.stack([raw & 15, raw >> 4], axis=1).reshape(-1)


def _codes_of(raw: np.ndarray, dtype: str) -> np.ndarray:
    if dtype in encoding.FOUR_BIT:
        return _unpack(raw)
    code = encoding.code_dtype(dtype)
    return raw[: len(raw) // code.itemsize * code.itemsize].view(code)


def to_bytes(values: np.ndarray, desc: Any) -> np.ndarray:
    """Return the bytes of a tensor in an open layout; padding is 0."""
    dtype = desc.data_type.name
    raw = np.zeros(max(desc.size, desc.extent), dtype=np.uint8)
    codes = encoding.encode(values, dtype).reshape(desc.dims)
    flat = _codes_of(raw, dtype).copy() if dtype in encoding.FOUR_BIT else _codes_of(raw, dtype)
    flat[layout.positions(desc)] = codes
    return _pack(flat)[: len(raw)] if dtype in encoding.FOUR_BIT else raw


def write(values: np.ndarray, desc: Any, stream: Any) -> Buffer:
    """Return a buffer of ``desc`` with these values; opaque layouts go through a reorder."""
    if layout.is_open(desc):
        return Buffer(desc, stream, to_bytes(values, desc))
    plain = dnnl.MemoryDesc(desc.dims, desc.data_type)
    source, target = Buffer(plain, stream, to_bytes(values, plain)), Buffer(desc, stream)
    _reorder(source, target)
    return target


def _reorder(source: Buffer, target: Buffer) -> None:
    pd = dnnl.reorder(source.stream.engine, src=source.desc, dst=target.desc)
    primitive = dnnl.Primitive(pd)
    primitive.execute(source.stream, {"src": source.memory, "dst": target.memory}).wait()


def read(buffer: Buffer) -> np.ndarray:
    """Return the elements as float64 in logical order."""
    if not layout.is_open(buffer.desc):
        plain = Buffer(dnnl.MemoryDesc(buffer.desc.dims, buffer.desc.data_type), buffer.stream)
        _reorder(buffer, plain)
        buffer = plain
    dtype = buffer.desc.data_type.name
    flat = _codes_of(buffer.bytes()[: buffer.nbytes], dtype)
    return encoding.decode(flat[layout.positions(buffer.desc)], dtype)


def intrusion(buffer: Buffer) -> str:
    """Return what was written where nothing should be: "" if all is well."""
    host, before = buffer.bytes(), buffer.before
    if (host[buffer.nbytes :] != PATTERN).any():
        return "bytes behind the end were written"
    desc = buffer.desc
    dtype = desc.data_type.name
    if not layout.is_open(desc) or dtype in encoding.FOUR_BIT or 0 in desc.dims:
        return ""
    width = encoding.item_bits(dtype) // 8
    raw, old = (side[: buffer.nbytes].reshape(-1, width) for side in (host, before))
    inside = np.zeros(len(raw), dtype=bool)
    if desc.inner_nblks:
        inside[layout.positions(desc, desc.padded_dims)] = True
        padding = inside.copy()
        padding[layout.positions(desc)] = False
        if raw[padding].any():
            return "padding of the blocked layout is not 0"
    inside[layout.positions(desc)] = True
    if (raw[~inside] != old[~inside]).any():
        return "gaps between strides were written"
    return ""
