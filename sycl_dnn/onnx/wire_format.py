# SPDX-License-Identifier: Apache-2.0
"""Places of an ONNX file's tensors in its bytes, which the parser does not tell."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Set

#: Numbers of fields: of a model, of a graph, of a node, of an attribute, and of a tensor.
_GRAPH, _NODE, _INITIALIZER, _OUTPUT, _ATTRIBUTE, _TENSOR, _NAME = 7, 1, 5, 2, 5, 5, 8
#: Those of a tensor with its values in order: as bytes, and as floats.
_VALUES = (9, 4)
#: Kinds of fields: a number, eight bytes, a length with as many bytes, and four bytes.
_NUMBER, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5

Span = tuple[int, int]
#: The bytes of a file.
Content = bytes | mmap.mmap


def places(data: Content, names: Set[str]) -> dict[str, Span]:
    """Return start and end of values, by the names of initializers and results of constants.

    Constants are looked for only if a name is that of no initializer. Of broken fields, and of
    those behind them, there are none.
    """
    graphs = [span for field, span in _fields(data, (0, len(data))) if field == _GRAPH]
    fields = [field for graph in graphs for field in _fields(data, graph)]
    found: dict[str, Span] = {}
    for kind, span in fields:
        if kind == _INITIALIZER:
            tensor = _last(data, span)
            _note(data, tensor, _NAME, tensor, found)
    for kind, span in () if names <= found.keys() else fields:
        if kind == _NODE:
            node = _last(data, span)
            attribute = _last(data, node[_ATTRIBUTE]) if _ATTRIBUTE in node else {}
            if _TENSOR in attribute:
                _note(data, node, _OUTPUT, _last(data, attribute[_TENSOR]), found)
    return found


def without_values(data: Content, least: int) -> tuple[Content, list[Span | None]]:
    """Return a model without the long values of its initializers, and where those are, in order.

    ``least``: bytes of values that are left out; only those in one field.
    """
    models = [(before, span) for field, before, span in _entries(data, (0, len(data)))
              if field == _GRAPH]  # fmt: skip
    if len(models) != 1:  # the parser would join them
        return data, []
    ((before, graph),) = models
    view, place = memoryview(data), graph[0]
    pieces: list[bytes | memoryview] = []
    spans: list[Span | None] = []
    for field, start, tensor in _entries(data, graph):
        if field != _INITIALIZER:
            continue
        values = [(b, s) for number, b, s in _entries(data, tensor) if number == _VALUES[0]]
        spans.append(None)
        if len(values) == 1 and values[0][1][1] - values[0][1][0] >= least:
            ((of_values, found),) = values
            spans[-1] = found
            rest = view[tensor[0] : of_values], view[found[1] : tensor[1]]
            pieces += [view[place:start], _length(_INITIALIZER, sum(map(len, rest))), *rest]
            place = tensor[1]
    pieces.append(view[place : graph[1]])
    head = view[:before], _length(_GRAPH, sum(map(len, pieces)))
    return b"".join([*head, *pieces, view[graph[1] :]]), spans


def _length(field: int, n: int) -> bytes:
    """Return the tag and length of a field of n bytes."""
    numbers = [field << 3 | _BYTES]
    while n > 127:
        numbers.append(n & 127 | 128)
        n >>= 7
    return bytes([*numbers, n])


def _note(
    data: Content, owner: dict[int, Span], name: int, tensor: dict[int, Span],
    found: dict[str, Span],
) -> None:  # fmt: skip
    values = next((tensor[field] for field in _VALUES if field in tensor), None)
    if name in owner and values is not None:
        found[data[slice(*owner[name])].decode(errors="replace")] = values


def _last(data: Content, span: Span) -> dict[int, Span]:
    """Return the last field of each number in a message."""
    return dict(_fields(data, span))


def _fields(data: Content, span: Span) -> Iterator[tuple[int, Span]]:
    """Yield number, and start and end, of each field of bytes in a message."""
    return ((field, found) for field, _, found in _entries(data, span))


def _entries(data: Content, span: Span) -> Iterator[tuple[int, int, Span]]:
    """Yield number, place, and start and end of the content, of each field of bytes."""
    place, end = span
    while place < end:
        before = place
        key, place = _number(data, place, end)
        kind = key & 7
        if kind == _BYTES:
            n, place = _number(data, place, end)
            if place + n > end:
                return
            yield key >> 3, before, (place, place + n)
            place += n
        elif kind == _NUMBER:
            _, place = _number(data, place, end)
        elif kind in (_EIGHT, _FOUR):
            place += 8 if kind == _EIGHT else 4
        else:
            return


def _number(data: Content, place: int, end: int) -> tuple[int, int]:
    """Return a number in base 128 and the place after it."""
    if place < end and data[place] < 128:
        return data[place], place + 1
    value = shift = 0
    while place < end:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            break
    return value, place
