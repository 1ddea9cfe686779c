# SPDX-License-Identifier: Apache-2.0
"""Trace a function of the user's: what it holds and the floats it takes become arguments."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import tree
from sycl_dnn.call import nesting
from sycl_dnn.call.captures import Captures
from sycl_dnn.call.numbers import FromNumber, Number
from sycl_dnn.call.seed import Seed
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.dispatch.trace_state import placement_error

_DPNP = os.path.dirname(dpnp.__file__) + os.sep
_OWN = tuple(os.path.dirname(p) + os.sep for p in (sycl_dnn.__file__, contextlib.__file__))
#: What may be asked of an array without looking at its values.
_HARMLESS = frozenset(
    (
        "__array_namespace__", "__init_subclass__", "__len__", "device", "dtype", "flags",
        "get_array", "itemsize", "nbytes", "ndim", "shape", "size", "strides", "sycl_context",
        "sycl_device", "sycl_queue", "usm_type",
    )
)  # fmt: skip


class CapturingTrace(Trace):
    """A trace for which arrays that the function holds are arguments, given anew at each call."""

    def __init__(self, engine: Any, held: Sequence[Any], training: bool = False) -> None:
        super().__init__(engine, training)
        self._held = list(held)
        self._numbers = {id(v): i for i, v in enumerate(held)}
        self._made: dict[int, Tensor] = {}
        #: By number of the argument: the held array, or the expression, that a call gives for it.
        self.tail: dict[int, int | FromNumber] = {}
        #: Whether an array is a constant of the trace that no guard knows.
        self.holds_others = False

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of an array that the traced function holds itself."""
        from sycl_dnn.dispatch.arguments import argument_of

        number = self._numbers.get(id(value))
        if number is None:
            self.holds_others |= not isinstance(value, Seed)
            return super().capture(value)
        if number not in self._made:
            index = len(self.arguments)
            self._made[number] = argument_of(self, value)
            self.tail[index] = number
        return self._made[number]

    def renumber(self, storages: Sequence[Storage], first: int) -> None:
        """Let arguments of a call have the numbers from ``first`` on."""
        places = [(s.argument, first + i) for i, s in enumerate(storages)]
        moved = {new: self.tail.pop(old) for old, new in places if old in self.tail}
        super().renumber(storages, first)
        self.tail |= moved

    def let_go(self) -> None:
        """Forget the user's arrays: the trace lives on in its executables."""
        self._held, self._numbers = [], {}


class Tail:
    """The arguments of a program that follow those of the call."""

    __slots__ = ("_entries", "_numbers", "used")

    def __init__(self, tail: Mapping[int, int | FromNumber], first: int, last: int) -> None:
        #: Numbers of the held arrays that are read, in order.
        self.used = list(dict.fromkeys(v for v in tail.values() if isinstance(v, int)))
        place = {number: i for i, number in enumerate(self.used)}
        entries = [tail.get(i) for i in range(first, last)]
        while entries and entries[-1] is None:
            entries.pop()
        self._entries = [place[e] if isinstance(e, int) else e for e in entries]
        self._numbers = any(isinstance(e, FromNumber) for e in entries)

    def complete(self, name: str, call: Any, held: tuple[Any, ...], queue: Any) -> list[Any]:
        """Return the arrays of a call with those that follow; note held ones in ``call``."""
        entries = self._entries
        if not entries:
            return call.arrays
        arrays = list(call.arrays)
        for entry in entries:
            if entry is None:  # a seed: drawn when the program runs
                arrays.append(None)
            elif isinstance(entry, FromNumber):
                arrays.append(entry.array(call.numbers, queue))
            else:
                arrays.append(_usable(held[entry], queue, call, len(arrays)))
        call.objects += [None] * (len(call.arrays) - len(call.objects))
        call.objects += [held[e] if isinstance(e, int) else None for e in entries]
        return arrays


def _usable(value: Any, queue: Any, call: Any, index: int) -> Any:
    array = value.get_array() if hasattr(value, "get_array") else value
    if array.sycl_queue != queue:
        raise placement_error(array.sycl_queue, queue)
    if isinstance(value, Frozen):
        call.frozen = {**(call.frozen or {}), index: value}
    return array


def numbered(trace: Any, value: Any, static: frozenset[int]) -> Any:
    """Return nested arguments with a ``Number`` for each float that is not fixed.

    Floats are counted in the order in which ``UserCall`` notes them.
    """
    seen = [0]

    def swap(item: Any) -> Any:
        if type(item) is float or isinstance(item, np.floating):
            number = seen[0]
            seen[0] += 1
            return item if number in static else Number.of_call(trace, number)
        if isinstance(item, Tensor) or nesting.is_array(item):
            return item
        node = tree.opened(item)
        if node is None or not node.children:
            return item
        return node.rebuilt([swap(v) for v in node.children])

    return swap(value)


class Watch:
    """Notices when a traced function lets dpnp compute with arrays that it holds."""

    def __init__(self) -> None:
        self.saw_values = False

    def _look(self, frame: Any, event: str, argument: Any) -> None:
        if event != "call" or self.saw_values:
            return
        code = frame.f_code
        if not code.co_filename.startswith(_DPNP) or code.co_name in _HARMLESS:
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        self.saw_values = not caller.startswith((_DPNP, *_OWN))


@contextlib.contextmanager
def watched(captures: Captures) -> Iterator[Watch]:
    """Watch what runs inside, where the function holds arrays or might make some."""
    watch = Watch()
    if not captures.arrays or sys.getprofile() is not None:
        # Somebody else's profiler is in the only place: be careful.
        watch.saw_values = bool(captures.arrays)
        yield watch
        return
    sys.setprofile(watch._look)
    try:
        yield watch
    finally:
        sys.setprofile(None)
