# SPDX-License-Identifier: Apache-2.0
"""Results of reading and checking ONNX files, kept on disk so that each file is checked once.

An entry has the structure, the facts about it, and the places of the weights in the file, whose
values it lacks. It holds for a file of the same bytes, except for the values of large initializers:
a model that is trained further has the same entry. Nothing that an entry says leads outside the
bytes of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

from sycl_dnn.compiler import kept_programs
from sycl_dnn.kernels import kept_binaries
from sycl_dnn.onnx.model_file import ModelFile
from sycl_dnn.onnx.model_graph import Facts, Graph, ModelInput, facts_of, graph_of
from sycl_dnn.onnx.wire_format import Content, places

#: Bytes at the beginning of a file that, with its size, name its entry.
_HEAD = 256
#: Sizes in bytes: of tensors whose values an entry refers to, of initializers whose values may
#: change, and of the largest entry.
_LARGE, _CHANGING, _MAX_BYTES = 1 << 12, 1 << 16, 1 << 22
#: Number of bytes, and of places with them, that are searched for a tensor.
_START, _TRIES = 64, 16
#: Number of bytes that are compared at a time.
_PART = 1 << 16
_WRONG = (ValueError, TypeError, KeyError, IndexError)


class _Entry(NamedTuple):
    digest: str
    #: Name, dtype, shape, place, and whether a parameter.
    weights: list[Any]
    #: Of the structure in order: a place in the file, or -1, and the number of bytes.
    pieces: list[tuple[int, int]]
    #: Ranges of bytes that may differ.
    changing: list[tuple[int, int]]
    facts: Any


def load(data: Content) -> tuple[ModelFile, Facts] | None:
    """Return the entry of a file with these bytes; None if there is no valid one."""
    content = kept_binaries.load(_name(data))
    if content is None:
        return None
    try:
        size = int.from_bytes(content[:8], "little")
        entry, text = _Entry(*json.loads(content[8 : 8 + size])), content[8 + size :]
        if _digest(data, entry.changing) != entry.digest:
            return None
        parameters: dict[str, np.ndarray] = {}
        buffers: dict[str, np.ndarray] = {}
        for name, dtype, shape, start, is_parameter in entry.weights:
            n = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, dtype, n, start).reshape(shape)
            (parameters if is_parameter else buffers)[name] = array
        file = ModelFile(_joined(entry.pieces, data, text), parameters, buffers)
        return file, _facts(*entry.facts)
    except _WRONG:
        return None


def keep(data: Content, file: ModelFile) -> None:
    """Store the results of reading a file, if its weights are in it."""
    if not (file_name := _name(data)):
        return
    arrays = {**file.parameters, **file.buffers}
    spans = places(data, arrays.keys())
    if not all(array.dtype.isbuiltin for array in arrays.values()):
        return
    own = {
        n: spans[n] for n, array in arrays.items() if n in spans and _fills(data, spans[n], array)
    }
    changing = sorted(span for span in own.values() if span[1] - span[0] >= _CHANGING)
    weights, last = [], 0
    for name, array in arrays.items():
        start = own[name][0] if name in own else _place(data, array, last, changing)
        if start < 0:
            return
        last = start + array.nbytes
        weights.append((name, array.dtype.str, array.shape, start, name in file.parameters))
    pieces, text = _split(file.structure, data, graph_of(file.structure), changing)
    *facts, static_inputs = facts_of(file.structure)
    facts.append(sorted(static_inputs))
    entry = _Entry(_digest(data, changing), weights, pieces, changing, facts)
    head = json.dumps(entry).encode()
    if len(head) + len(text) < _MAX_BYTES:
        kept_binaries.keep(file_name, len(head).to_bytes(8, "little") + head + text)


def _name(data: Content) -> str:
    if kept_binaries.folder() is None:
        return ""
    facts = kept_programs.package(), onnx.__version__, len(data), data[:_HEAD]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _digest(data: Content, changing: Sequence[tuple[int, int]]) -> str:
    """Return the digest of a file without ranges of it, which are in order."""
    view, place, digest = memoryview(data), 0, hashlib.sha256()
    for start, end in changing:
        digest.update(view[place:start])
        place = end
    digest.update(view[place:])
    return digest.hexdigest()


def _facts(
    digest: str, inputs: Any, outputs: Any, missing: Any, host_steps: Any, static: Any
) -> Facts:
    return Facts(
        digest, tuple(map(_described, inputs)), tuple(map(_described, outputs)), tuple(missing),
        tuple(host_steps), frozenset(static),
    )  # fmt: skip


def _described(value: Any) -> ModelInput:
    name, shape, dtype = value
    return ModelInput(name, None if shape is None else tuple(shape), dtype)


def _fills(data: Content, span: tuple[int, int], array: np.ndarray) -> bool:
    return span[1] - span[0] == array.nbytes and _is_at(data, span[0], array)


def _is_at(data: Content, start: int, array: np.ndarray) -> bool:
    raw = array.reshape(-1).view(np.uint8)
    view = np.frombuffer(data, np.uint8)[start : start + raw.size]
    if view.size == raw.size and view.ctypes.data == raw.ctypes.data:
        return True
    parts = range(0, raw.size, _PART)
    return view.size == raw.size and all(
        (view[i : i + _PART] == raw[i : i + _PART]).all() for i in parts
    )


def _place(
    data: Content, array: np.ndarray, last: int, changing: Sequence[tuple[int, int]] = ()
) -> int:
    """Return where the bytes of an array are, preferably after ``last``; -1 if not there.

    Not where others may be some day, in ranges that are ``changing``.
    """
    first = array.reshape(-1).view(np.uint8)[:_START].tobytes()
    for start in (last, 0):
        for _ in range(_TRIES):
            start = data.find(first, start)
            if start < 0:
                break
            end = start + array.nbytes
            is_fixed = all(end <= a or b <= start for a, b in changing)
            if is_fixed and _is_at(data, start, array):
                return start
            start += 1
    return -1


def _split(
    structure: bytes, data: Content, graph: Graph, changing: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], bytes]:
    """Return the pieces of a structure, and the bytes of those that are not in the file."""
    found, last = [], 0
    for array in _constants(graph):
        inside, outside = _place(structure, array, 0), _place(data, array, last, changing)
        if inside >= 0 and outside >= 0:
            found.append((inside, outside, array.nbytes))
            last = outside + array.nbytes
    pieces, text, place = [], [], 0
    for inside, outside, n in sorted(found):
        if inside >= place:
            text.append(structure[place:inside])
            pieces += [(-1, inside - place), (outside, n)]
            place = inside + n
    text.append(structure[place:])
    return [*pieces, (-1, len(structure) - place)], b"".join(text)


def _constants(graph: Graph) -> Iterator[np.ndarray]:
    """Yield the large constants of a graph."""
    for values in (graph.constants, *(n.attributes for n in graph.nodes)):
        for value in values.values():
            if isinstance(value, np.ndarray) and value.nbytes >= _LARGE and value.dtype.isbuiltin:
                yield value


def _joined(pieces: Sequence[Sequence[int]], data: Content, text: bytes) -> bytes:
    view, parts, place = memoryview(data), [], 0  # slices of a view copy nothing
    for start, n in pieces:
        if start < 0:
            parts.append(memoryview(text)[place : place + n])
            place += n
        else:
            parts.append(view[start : start + n])
    return b"".join(parts)
