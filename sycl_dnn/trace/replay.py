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
from dataclasses import dataclass
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
#: Tensors by name, as numbers: operands first, then in order of appearance.
_Numbers = tuple[tuple[str, int], ...]


class _Unlike(Exception):
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
            raise _Unlike  # the body may depend on its values
        if value.parts is not None:
            raise _Unlike  # it reads these instead
        if storage.source is not None:
            raise _Unlike  # a kernel may read what it repeats
        number = len(operands)
        operands.append(value)
        desc = value.desc
        return (
            desc, None if desc is None else desc.strides, str(value.dtype), value.shape,
            value.strides, value.offset, storage.desc, storage.scalar, storage.constant,
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
    raise _Unlike


# --- Templates: steps and entries of the tape over numbers in place of tensors


@dataclass(frozen=True)
class _TensorForm:
    """A tensor over the storage of this number."""

    storage: int
    rest: tuple[Any, ...]


@dataclass(frozen=True)
class _StepForm:
    """A step: of a kernel, or of a primitive, which ``planned`` describes.

    ``copy_desc`` is the layout of a copy that later calls may share.
    """

    kernel: Any
    planned: tuple[Any, bool]
    inputs: _Numbers
    outputs: _Numbers
    rest: tuple[bool, Any, bool]
    copy_desc: Any = None


@dataclass(frozen=True)
class _EntryForm:
    """An entry of the tape that consists of data only."""

    row: str
    inputs: _Numbers
    outputs: _Numbers
    args: _Numbers
    params: dict[str, Any]
    pd: Any
    composed: Any
    has_post_ops: bool


class Template:
    """The recording of one call.

    Parameters
    ----------
    operands : sequence of Tensor
        In the order of the key.

    Raises
    ------
    _Unlike
        It recorded closures, or more than primitives and kernels over its operands.
    """

    def __init__(
        self,
        trace: Trace,
        operands: Sequence[Tensor],
        steps: Iterable[Any],
        entries: Iterable[Entry],
        result: Any,
    ) -> None:
        self._numbers = {id(t): i for i, t in reversed(list(enumerate(operands)))}
        self._storages: dict[Storage, int] = {}
        #: Of storages: layout and memory; nothing for those of operands.
        self._storage_forms: list[tuple[Any, Any, bool] | None] = []
        self._tensors: list[_TensorForm | None] = [None] * len(operands)
        self._of_operands = [self._storage(t.storage, None) for t in operands]
        self._steps = [self._step_form(trace, s) for s in steps]
        self._entries = [self._entry_form(e) for e in entries]
        self._is_single = result.__class__ is Tensor
        if not self._is_single and result.__class__ not in (tuple, list):
            raise _Unlike
        results = [result] if self._is_single else result
        self._results = [None if t is None else self._number(t) for t in results]
        self._kind = result.__class__
        self._numbers.clear()
        self._storages.clear()

    def _storage(self, storage: Storage, form: Any) -> int:
        number = self._storages.get(storage)
        if number is None:
            number = self._storages[storage] = len(self._storage_forms)
            self._storage_forms.append(form)
        return number

    def _number(self, tensor: Any, is_written: bool = False) -> int:
        if tensor.__class__ is not Tensor:
            raise _Unlike
        number = self._numbers.get(id(tensor))
        if number is not None:
            return number
        storage = tensor.storage
        if storage not in self._storages and storage.memory is None and not is_written:
            raise _Unlike  # older than the call
        if storage.scalar and storage not in self._storages:
            raise _Unlike
        storage_number = self._storage(storage, (storage.desc, storage.memory, storage.constant))
        rest = (tensor.desc, tensor.dtype, tensor.shape, tensor.offset, tensor.strides)
        number = self._numbers[id(tensor)] = len(self._tensors)
        self._tensors.append(_TensorForm(storage_number, rest))
        return number

    def _named(self, tensors: dict[str, Tensor], is_written: bool = False) -> _Numbers:
        return tuple((n, self._number(t, is_written)) for n, t in tensors.items())

    def _step_form(self, trace: Trace, step: Any) -> _StepForm:
        planned: Any = step.primitive if step.__class__ is Step else None
        if planned.__class__ is not Planned and not is_kernel(planned):
            raise _Unlike
        inputs = self._named(step.inputs)
        outputs = self._named(step.outputs, is_written=True)
        rest = step.constant, step.meaning, step.is_repeated
        if is_kernel(planned):
            return _StepForm(planned, (None, False), inputs, outputs, rest)
        copy_desc = None
        if planned.name == "reorder":
            copy_desc = step.outputs["dst"].desc
            if trace.copy_of(step.inputs["src"], copy_desc) is not step.outputs["dst"]:
                raise _Unlike
        description = planned.primitive_desc, planned.inserted
        return _StepForm(None, description, inputs, outputs, rest, copy_desc)

    def _entry_form(self, entry: Entry) -> _EntryForm:
        if entry.rule is not None or not all(map(_is_plain, entry.params.values())):
            raise _Unlike
        if entry.composed is not None and not _is_data(entry.composed):
            raise _Unlike
        return _EntryForm(
            entry.row, self._named(entry.inputs), self._named(entry.outputs),
            self._named(entry.args), entry.params, entry.pd, entry.composed,
            entry.has_post_ops,
        )  # fmt: skip

    def replay(self, trace: Trace, operands: Sequence[Tensor]) -> Any:
        """Record the same steps for other operands; return the result."""
        storages: list[Any] = [None] * len(self._storage_forms)
        for number, operand in zip(self._of_operands, operands, strict=True):
            storages[number] = operand.storage
        tensors: list[Any] = [*operands, *[None] * (len(self._tensors) - len(operands))]

        def tensor(number: int) -> Tensor:
            existing = tensors[number]
            if existing is None:
                form: Any = self._tensors[number]
                storage = storages[form.storage]
                if storage is None:
                    desc, memory, constant = self._storage_forms[form.storage]  # type: ignore[misc]
                    storage = storages[form.storage] = Storage(desc, memory=memory)
                    storage.constant = constant
                existing = tensors[number] = Tensor(trace, storage, *form.rest)
            return existing

        def named(numbers: _Numbers) -> dict[str, Tensor]:
            return {name: tensor(number) for name, number in numbers}

        for step in self._steps:
            inputs = named(step.inputs)
            if step.copy_desc is not None:
                ((_, number),) = step.outputs
                copy = trace.reorder(inputs["src"], step.copy_desc, step.planned[1])
                tensors[number] = copy
                storages[self._tensors[number].storage] = copy.storage  # type: ignore[union-attr]
                continue
            primitive = Planned(*step.planned) if step.kernel is None else step.kernel
            trace.steps.append(Step(primitive, inputs, named(step.outputs), *step.rest))
        for e in self._entries:
            entry = Entry(e.row, named(e.inputs), named(e.outputs), dict(e.params), named(e.args))
            entry.pd, entry.has_post_ops, entry.composed = e.pd, e.has_post_ops, e.composed
            trace.tape.append(entry)
        results = [None if n is None else tensor(n) for n in self._results]
        return results[0] if self._is_single else self._kind(results)


def _is_data(function: Any) -> bool:
    """Whether a function refers to nothing in the trace that it was created in."""
    if type(function) is partial:
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

    Parameters
    ----------
    capacity : int
        Number of calls.
    """

    def __init__(self, capacity: int = _MAX_CALLS) -> None:
        self._capacity = capacity
        #: None for calls that cannot be replayed.
        self._templates: OrderedDict[Any, Template | None] = OrderedDict()
        #: The number of calls, and how many of them were replayed.
        self.n_calls = self.n_replayed = 0

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
        self.n_calls += 1
        operands: list[Tensor] = []
        first: dict[int, int] = {}
        try:
            key = (
                function, is_taped, policy.current(), trace.policy, trace.engine, trace.training,
                tuple([_token(v, operands, first) for v in args]),
                tuple([(n, _token(v, operands, first)) for n, v in kwargs.items()]),
            )  # fmt: skip
        except _Unlike:
            return body(*args, **kwargs)
        if key not in self._templates:
            return self._recorded(key, trace, operands, is_taped, lambda: body(*args, **kwargs))
        self._templates.move_to_end(key)
        template = self._templates[key]
        if template is None:
            return body(*args, **kwargs)
        self.n_replayed += 1
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
            with contextlib.suppress(_Unlike):
                entries = tape[n_entries:] if is_taped else []
                template = Template(trace, operands, steps[n_steps:], entries, result)
        self._templates[key] = template
        while len(self._templates) > self._capacity:
            self._templates.popitem(last=False)
        return result


def _n_others(trace: Trace) -> tuple[int, ...]:
    """Return the sizes of a trace's other lists."""
    return len(trace.arguments), len(trace.captured), len(trace.written)
