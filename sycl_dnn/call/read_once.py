# SPDX-License-Identifier: Apache-2.0
"""What a traced function would read once, where its code reads it at each call.

Generators of random numbers and iterators are refused, clocks and files cause a warning.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import itertools
import os
import pathlib
import pickle
import random
import secrets
import time
import types
import uuid
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import numpy as np

from sycl_dnn import _warn
from sycl_dnn.call.captured_contents import file_state, is_read
from sycl_dnn.trace.refusals import NeedsArrays

GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
#: By id of the module: the generator of its functions, with one state per process.
_OF_PROCESS: dict[int, Any] = {
    id(random): random.seed.__self__,  # type: ignore[attr-defined]
    id(np.random): np.random.random.__self__,  # type: ignore[attr-defined]
}
#: By id of a function: its name, if its results differ from call to call, or it reads files.
_CHANGING = {
    id(function): f"{function.__module__}.{function.__name__}"
    for function in (
        time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter,
        time.perf_counter_ns, time.process_time, time.process_time_ns, time.thread_time,
        time.thread_time_ns, time.ctime, time.gmtime, time.localtime, time.strftime,
        os.urandom, secrets.token_bytes, secrets.randbelow, uuid.uuid1, uuid.uuid4,
        open, os.stat, os.listdir, os.path.exists, os.path.isfile, os.path.getmtime,
        os.path.getsize, np.load, np.loadtxt, np.genfromtxt, np.fromfile,
    )
}  # fmt: skip
_OF_DATES = frozenset(("now", "today", "utcnow"))
_OF_FILES = frozenset(("exists", "is_file", "iterdir", "open", "read_bytes", "read_text", "stat"))
_ENVIRONMENT: dict[Any, MutableMapping[Any, Any]] = {
    os.getenv: os.environ, os.getenvb: os.environb,
}  # fmt: skip
_ITERATORS = ("builtins", itertools.__name__)


def generator_of(value: Any) -> Any:
    """Return the generator that a value is, or draws from; None if there is none."""
    is_method = isinstance(value, (types.BuiltinMethodType, types.MethodType))
    owner = _OF_PROCESS.get(id(value), value.__self__ if is_method else value)
    return owner if isinstance(owner, GENERATORS) else None


def state_of(generator: Any) -> bytes:
    """Return the pickled state of a generator."""
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state())
    return pickle.dumps(generator.bit_generator.state)


def set_state(generator: Any, state: bytes) -> None:
    """Give a generator the state that ``state_of`` returned."""
    if isinstance(generator, random.Random):
        generator.setstate(pickle.loads(state))
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(pickle.loads(state))
    else:
        generator.bit_generator.state = pickle.loads(state)


def environment_of(function: Any) -> Any:
    """Return the environment that a function reads; None for others."""
    return _ENVIRONMENT.get(function)


def _is_advanced(file: io.IOBase, state: tuple[Any, int]) -> bool:
    """Whether a file's position has changed, but not its content: writes of logs are allowed."""
    current = file_state(file)
    return current is not None and current[0] == state[0] and current[1] != state[1]


class ReadOnce:
    """The generators, iterators, clocks and files that code of a function reads."""

    def __init__(self) -> None:
        self._generators: dict[int, Any] = {}
        self._iterators: list[str] = []
        self._files: list[io.IOBase] = []
        self._clocks: dict[str, None] = {}

    def note(self, value: Any, names: set[str]) -> None:
        """Note a value that code reads, with the names of all attributes that it reads."""
        generator = generator_of(value)
        if generator is not None:
            self._generators[id(generator)] = generator
        elif value is datetime.datetime or value is datetime.date:
            texts = [f"{value.__name__}.{name}" for name in sorted(_OF_DATES & names)]
            self._clocks |= dict.fromkeys(texts)
        elif isinstance(value, io.IOBase) and is_read(value, names):
            self._files.append(value)
        elif isinstance(value, pathlib.Path):
            self._clocks |= {f"Path.{name}": None for name in sorted(_OF_FILES & names)}
        elif id(value) in _CHANGING:
            self._clocks[_CHANGING[id(value)]] = None

    def note_named(self, name: Any, value: Any) -> None:
        """Note the value of a variable or attribute of this name."""
        kind = type(value)
        if kind.__module__ in _ITERATORS and hasattr(kind, "__next__"):
            self._iterators.append(str(name))

    def check(self, function: str) -> None:
        """Refuse iterators of a function that will be traced, and warn of clocks."""
        if self._iterators:
            raise NeedsArrays(
                f"{function} must not read the iterator {self._iterators[0]!r}: it would advance "
                "once, while the function is traced; pass its items as arguments"
            )
        if self._clocks:
            _warn.warn(
                f"{function} reads {', '.join(self._clocks)} once, while it is traced; pass what "
                "changes from call to call as an argument"
            )

    @contextlib.contextmanager
    def without_draws(self, function: str) -> Iterator[None]:
        """Refuse draws and reads of files by a function that is traced inside; undo draws."""
        states = [(generator, state_of(generator)) for generator in self._generators.values()]
        files = [(file, file_state(file)) for file in self._files]
        try:
            yield
        finally:
            drawn = [entry for entry in states if state_of(entry[0]) != entry[1]]
            for entry in drawn:
                set_state(*entry)
        if any(_is_advanced(file, state) for file, state in files):
            raise NeedsArrays(
                f"{function} must not read from an open file while it is traced: it would be read "
                "once; pass its content as an argument"
            )
        if drawn:
            raise NeedsArrays(
                f"{function} must not draw random numbers of Python or NumPy while it is traced: "
                "they would be drawn once; draw them by sycl_dnn.functional.rand, or pass them as "
                "arguments"
            )

    def warn_of_changes(self, function: str, names: Sequence[str]) -> None:
        """Warn of constants that a function changed while it was traced."""
        if names:
            _warn.warn(
                f"{function} changed {', '.join(names)} while it was traced: that happens once for "
                "each program, not at each call; take the value as an argument and return it"
            )
