# SPDX-License-Identifier: Apache-2.0
"""Replay of recorded calls for operands of the same layouts.

Layers repeat, and everything that does not depend on the changed shape is the same in each
compilation of a function. Replaying a call skips its checks, its choice of layouts and its queries
to oneDNN.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from sycl_dnn.trace import policy
from sycl_dnn.trace.steps import Entry, Planned, Step, is_kernel
from sycl_dnn.trace.values import Storage, Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.recording import Trace

_PLAIN = frozenset((int, bool, str, type(None)))
_MAX_CALLS = 2048


class Definition(partial):  # type: ignore[type-arg]
    """A function of this package with arguments: other functions without closures, and plain data.

    Equal ones do the same, so a call with one of them can be replayed.
    """


class Unlike(Exception):
    """A call or its arguments cannot be identified well enough to be replayed."""


# --- Keys: everything that a body can read from its arguments


def _token(value: Any, operands: list[Tensor], first: dict[int, int]) -> Any:
    """Return everything that a body can read from an argument, and note its tensors.

    ``first`` maps each tensor and storage, by identity, to the first operand that has it.
    """
    kind = type(value)  # the __class__ of a number of the call is float
    if kind is Tensor:
        storage = value.storage
        if storage.memory is not None:
            raise Unlike  # the body may depend on its values
        if value.parts is not None:
            raise Unlike  # it reads these instead
        if storage.source is not None:
            raise Unlike  # a kernel may read what it repeats
        number = len(operands)
        operands.append(value)
        desc = value.desc
        return (
            desc, desc.strides, str(value.dtype), value.shape,
            value.strides, value.offset, storage.desc, storage.constant,
            storage.argument is None, first.setdefault(id(storage), number),
            first.setdefault(id(value), number),
        )  # fmt: skip
    if kind is float:
        return (float, value.hex())  # distinguishes the zeros
    if kind in _PLAIN:
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *[_token(v, operands, first) for v in value])
    if kind is slice:
        return (kind, *[_token(v, operands, first) for v in (value.start, value.stop, value.step)])
    if kind is Definition:
        parts = (value.func, *value.args)
        return (kind, *[v if _is_data(v) else _token(v, operands, first) for v in parts])
    raise Unlike


# --- Templates: steps and entries of the tape over stand-ins for the operands


class Copies:
    """Copies of the steps that a call recorded, over other operands.

    ``operands``: iterable of (Tensor, Tensor), operands of the call, and what stands for each.
    """

    def __init__(self, trace: Trace, operands: Iterable[tuple[Tensor, Tensor]]) -> None:
        self._trace = trace
        self._tensors: dict[int, Tensor] = {}
        self._storages: dict[Storage, Storage] = {}
        for old, new in operands:
            self._tensors[id(old)], self._storages[old.storage] = new, new.storage

    def _tensor(self, tensor: Any, is_written: bool = False) -> Tensor:
        copy = self._tensors.get(id(tensor))
        if copy is None:
            if tensor.__class__ is not Tensor:
                raise Unlike
            t, old = tensor, tensor.storage
            storage = self._storages.get(old)
            if storage is None:
                if old.memory is None and not is_written:
                    raise Unlike  # older than the call
                storage = self._storages[old] = Storage(old.desc, memory=old.memory)
                storage.constant = old.constant
            rest = (t.desc, t.dtype, t.shape, t.offset, t.strides)
            copy = self._tensors[id(t)] = Tensor(self._trace, storage, *rest)
        return copy

    def named(self, tensors: dict[str, Tensor], is_written: bool = False) -> dict[str, Tensor]:
        """Return copies of tensors by name; ``is_written``: whether their storages may be new."""
        return {name: self._tensor(t, is_written) for name, t in tensors.items()}

    def step(self, step: Step) -> Step:
        """Return a step over the copies."""
        inputs, outputs = self.named(step.inputs), self.named(step.outputs, is_written=True)
        return Step(step.primitive, inputs, outputs, step.constant, step.meaning, step.is_repeated)

    def reorder(self, step: Step) -> None:
        """Replace the result of a step by a copy that other readers may share."""
        ((_, old),) = step.outputs.items()
        source, inserted = self._tensor(step.inputs["src"]), step.primitive.inserted
        new = self._trace.reorder(source, old.desc, inserted)
        self._tensors[id(old)], self._storages[old.storage] = new, new.storage

    def entry(self, e: Entry) -> Entry:
        """Return an entry of the tape over the copies."""
        inputs, outputs, args = map(self.named, (e.inputs, e.outputs, e.args))
        return Entry(
            e.row, inputs, outputs, dict(e.params), args, e.pd, None, e.has_post_ops, e.composed
        )

    def result(self, result: Any) -> Any:
        """Return a tensor, or a tuple or list of tensors and None."""
        if result.__class__ is Tensor:
            return self._tensor(result)
        if result.__class__ not in (tuple, list):
            raise Unlike
        return result.__class__([None if t is None else self._tensor(t) for t in result])


def stand_ins(trace: Trace, operands: Sequence[Tensor]) -> list[Tensor]:
    """Return stand-ins for operands in a template, which must not keep their storages alive."""
    storages = {t.storage: Storage(t.storage.desc) for t in operands}
    by_id = {
        id(t): Tensor(trace, storages[t.storage], t.desc, t.dtype, t.shape, t.offset, t.strides)
        for t in operands
    }
    return [by_id[id(t)] for t in operands]


class Template:
    """The recording of one call.

    ``operands``: in the order of the key. Raises Unlike if it recorded closures, or more than
    primitives and kernels over its operands.
    """

    def __init__(
        self,
        trace: Trace,
        operands: Sequence[Tensor],
        steps: Iterable[Any],
        entries: Iterable[Entry],
        result: Any,
    ) -> None:
        self._operands = stand_ins(trace, operands)
        copies = Copies(trace, zip(operands, self._operands, strict=True))
        #: Steps, and whether each is a copy that later calls may share.
        self._steps = [(copies.step(s), _is_shared(trace, s)) for s in map(_checked_step, steps)]
        self._entries = [copies.entry(e) for e in map(_checked_entry, entries)]
        self._result = copies.result(result)

    def replay(self, trace: Trace, operands: Sequence[Tensor]) -> Any:
        """Record the same steps for other operands; return the result."""
        copies = Copies(trace, zip(self._operands, operands, strict=True))
        for step, is_shared in self._steps:
            if is_shared:
                copies.reorder(step)
            else:
                trace.steps.append(copies.step(step))
        trace.tape += [copies.entry(e) for e in self._entries]
        return copies.result(self._result)


def _checked_step(step: Any) -> Step:
    is_step = step.__class__ is Step
    if not is_step or not (step.primitive.__class__ is Planned or is_kernel(step.primitive)):
        raise Unlike
    return step  # type: ignore[no-any-return]


def _is_shared(trace: Trace, step: Step) -> bool:
    """Whether a step is the copy of a tensor in another layout that a trace has."""
    if is_kernel(step.primitive) or step.primitive.name != "reorder":
        return False
    copy = step.outputs["dst"]
    if trace.copy_of(step.inputs["src"], copy.desc) is not copy:
        raise Unlike
    return True


def _checked_entry(entry: Entry) -> Entry:
    if entry.rule is not None or not all(map(_is_plain, entry.params.values())):
        raise Unlike
    if entry.composed is not None and not _is_data(entry.composed):
        raise Unlike
    return entry


def _is_data(function: Any) -> bool:
    """Whether a function refers to nothing in the trace that it was created in."""
    if isinstance(function, partial):
        values = (*function.args, *function.keywords.values())
        return _is_data(function.func) and all(map(_is_plain, values))
    return type(function) is FunctionType and function.__closure__ is None


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    is_data = not callable(value) or _is_data(value)
    return is_data and not isinstance(value, (Tensor, Storage, dict))


class Replays:
    """Recordings of calls, by function and the layouts of their arguments.

    The least recently used is dropped first. It belongs to one compiled function, for one thread at
    a time.

    ``capacity``: number of calls.
    """

    def __init__(self, capacity: int = _MAX_CALLS) -> None:
        self._capacity = capacity
        #: None for calls that cannot be replayed.
        self._templates: OrderedDict[Any, Template | None] = OrderedDict()

    def call(
        self,
        trace: Trace,
        function: Any,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        is_taped: bool,
    ) -> Any:
        """Return the result of ``body`` for arguments whose arrays are traced.

        ``function`` represents the body in keys. What is not ``is_taped`` has no gradient.
        """
        operands: list[Tensor] = []
        first: dict[int, int] = {}
        try:
            key = (
                function, is_taped, policy.current(), trace.policy, trace.engine, trace.training,
                tuple([_token(v, operands, first) for v in args]),
                tuple([(n, _token(v, operands, first)) for n, v in kwargs.items()]),
            )  # fmt: skip
        except Unlike:
            return body(*args, **kwargs)
        if key not in self._templates:
            return self._recorded(key, trace, operands, is_taped, lambda: body(*args, **kwargs))
        self._templates.move_to_end(key)
        template = self._templates[key]
        if template is None:
            return body(*args, **kwargs)
        return template.replay(trace, operands)

    def _recorded(
        self,
        key: Any,
        trace: Trace,
        operands: Sequence[Tensor],
        is_taped: bool,
        body: Callable[[], Any],
    ) -> Any:
        steps, tape = trace.steps, trace.tape
        n_steps, n_entries = len(steps), len(tape)
        before = _n_others(trace)
        result = body()
        template = None
        if _n_others(trace) == before and trace.steps is steps and trace.tape is tape:
            with contextlib.suppress(Unlike):
                entries = tape[n_entries:] if is_taped else []
                template = Template(trace, operands, steps[n_steps:], entries, result)
        self._templates[key] = template
        while len(self._templates) > self._capacity:
            self._templates.popitem(last=False)
        return result


def _n_others(trace: Trace) -> tuple[int, ...]:
    """Return the sizes of a trace's other lists."""
    return len(trace.arguments), len(trace.captured), len(trace.written)
