# SPDX-License-Identifier: Apache-2.0
"""Reader of the GGUF format; lengths are validated before use."""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.llm.temporaries import read_array, temporary

#: NumPy dtypes of field types; 8 is a string, 9 an array.
_NUMBERS = {0: "u1", 1: "i1", 2: "u2", 3: "i2", 4: "u4", 5: "i4", 6: "f4", 7: "?", 10: "u8",
            11: "i8", 12: "f8"}  # fmt: skip
_STRING, _ARRAY = 8, 9
#: Number of elements decoded at a time.
_AT_ONCE = 1 << 20


class StoredTensor(NamedTuple):
    """Location of a tensor in a file."""

    #: In NumPy's order: the last axis is contiguous.
    shape: tuple[int, ...]
    kind: int
    #: In bytes from the start of the tensor data.
    offset: int


class StoredStrings:
    """Strings of a field, decoded at each iteration: a vocabulary is large."""

    def __init__(self, data: mmap.mmap, start: int, count: int) -> None:
        self._bytes, self._start, self._count = data, start, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        end = self._start
        for _ in range(self._count):
            (size,) = struct.unpack_from("<Q", self._bytes, end)
            start, end = end + 8, end + 8 + size
            yield self._bytes[start:end].decode()


class GgufReader:
    """The fields and tensors of a file.

    Raises ValueError if the file is damaged, or its version is not 2 or 3.

    Source: ggml, docs/gguf.md.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            if path.stat().st_size < 24:
                raise self._damaged("it is too short")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 4
        version = self._number("u4")
        if self._bytes[:4] != b"GGUF" or version not in (2, 3):
            raise self._damaged("it must begin with GGUF and version 2 or 3")
        n_tensors, n_fields = self._number("u8"), self._number("u8")
        self.fields: dict[str, Any] = {}
        self.tensors: dict[str, StoredTensor] = {}
        for _ in range(n_fields):
            name = self._string()
            self.fields[name] = self._value(self._number("u4"))
        for _ in range(n_tensors):
            name = self._string()
            n_axes = self._number("u4")
            if n_axes > 4:
                raise self._damaged(f"{name} has {n_axes} axes")
            shape = tuple(self._number("u8") for _ in range(n_axes))[::-1]
            self.tensors[name] = StoredTensor(shape, self._number("u4"), self._number("u8"))
        alignment = self.fields.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment < 1 << 20:
            raise self._damaged(f"its alignment is {alignment!r}")
        self._start = -(-self._at // alignment) * alignment

    def _damaged(self, why: str) -> ValueError:
        return ValueError(f"llm: {self._path} is not a whole GGUF file: {why}")

    def _consume(self, size: int) -> int:
        """Consume the next ``size`` bytes and return their position."""
        start, self._at = self._at, self._at + size
        if self._at > len(self._bytes):
            raise self._damaged(f"it ends at byte {len(self._bytes)} of {self._at} or more")
        return start

    def _number(self, kind: str) -> Any:
        values = np.frombuffer(self._bytes, f"<{kind}", 1, self._consume(np.dtype(kind).itemsize))
        return values[0].item()

    def _string(self) -> str:
        (size,) = struct.unpack_from("<Q", self._bytes, self._consume(8))
        start = self._consume(size)
        try:
            return self._bytes[start : start + size].decode()
        except UnicodeDecodeError as error:
            raise self._damaged(str(error)) from None

    def _value(self, kind: int) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            raise self._damaged(f"a field has the type {kind}")
        element_kind, count = self._number("u4"), self._number("u8")
        if element_kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[element_kind]).newbyteorder("<")
            start = self._consume(count * dtype.itemsize)
            return np.frombuffer(self._bytes, dtype, count, start).tolist()
        if element_kind != _STRING:
            raise self._damaged(f"an array has elements of the type {element_kind}")
        strings = StoredStrings(self._bytes, self._at, count)
        for _ in range(count):
            self._string()
        return strings

    def blocks(self, name: str) -> tuple[Any, Any]:
        """Return the bytes of a tensor, (blocks, bytes of one), and their type.

        Raises ValueError if it is not whole, or of an unknown type.
        """
        import gguf

        shape, kind, offset = self.tensors[name]
        try:
            kind = gguf.GGMLQuantizationType(kind)
            n_elements, n_bytes = gguf.GGML_QUANT_SIZES[kind]
        except (ValueError, KeyError):
            raise ValueError(f"llm: {name} must be of a type of GGUF, got {kind}") from None
        total = math.prod(shape)
        size, start = total // n_elements * n_bytes, self._start + offset
        if total % n_elements or not 0 <= size <= len(self._bytes) - start:
            raise self._damaged(f"{name} of shape {shape} is not inside")
        return read_array(self._path, start, (size // n_bytes, n_bytes), np.uint8), kind

    def read(self, name: str) -> Any:
        """Return a tensor as NumPy's float32.

        Raises ValueError if it is not whole, or of a type that the library ``gguf`` does not
        decode.
        """
        import gguf

        raw, kind = self.blocks(name)
        shape = self.tensors[name].shape
        if kind == gguf.GGMLQuantizationType.F32:
            return raw.view("<f4").reshape(shape)
        n_elements, _ = gguf.GGML_QUANT_SIZES[kind]
        values = temporary((len(raw), n_elements), np.float32)
        step = max(_AT_ONCE // n_elements, 1)
        for i in range(0, len(raw), step):
            try:
                decoded = gguf.dequantize(raw[i : i + step].reshape(1, -1), kind)
            except NotImplementedError:
                raise ValueError(
                    f"llm: {name} must be of a type with a decoder, got {kind.name}"
                ) from None
            values[i : i + step] = decoded.reshape(-1, n_elements)
        return values.reshape(shape)
