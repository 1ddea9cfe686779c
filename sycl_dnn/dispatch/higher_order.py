# SPDX-License-Identifier: Apache-2.0
"""Reverse passes that can be differentiated themselves: each step of one is an entry of the tape.

The gradient of an entry is recorded as before, with its fast primitives. What it recorded on the
tape is kept with it. An outer reverse pass goes over that inner tape; where the inner tape does not
show how the gradient depends on its operands, it goes over a composition of the forward operation,
and where there is none, it raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sycl_dnn.dispatch.gradients import Grads, NoGradient, gradients_of, rule_for
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

Composition = Callable[[Entry], Grads]


@contextlib.contextmanager
def recording(trace: Trace) -> Iterator[list[Entry]]:
    """Record on a tape of its own, with the workspaces that gradients need."""
    tape, training = trace.tape, trace.training
    trace.tape, trace.training = [], True
    try:
        yield trace.tape
    finally:
        trace.tape, trace.training = tape, training


def alias(tensor: Tensor) -> Tensor:
    """Return another tensor of the same elements: it has a gradient of its own."""
    t = tensor
    return Tensor(t.trace, t.storage, t.desc, t.dtype, t.shape, t.offset, t.strides)


def pulled_back(trace: Trace, entry: Entry, given: Grads, needed: set[str]) -> Grads:
    """Record the gradients of the ``needed`` inputs of an entry, as one entry of the tape."""
    training = trace.training
    with recording(trace) as tape:
        trace.training = training
        found = gradients_of(trace, entry, given, needed)
        # A rule may have exchanged the tape for a while, never for good.
        inner = list(tape)
    found = {n: g for n, g in found.items() if n in needed and g is not None}
    made = {n: alias(g) for n, g in found.items()}
    trace.tape.append(_Reversed(entry, given, found, inner).as_entry(made))
    return made


class _Reversed:
    """The recorded gradient of one entry, and how it is differentiated."""

    def __init__(self, entry: Entry, given: Grads, found: Grads, tape: list[Entry]) -> None:
        self._entry, self._given, self._found = entry, given, found
        # The gradient of a gradient reads what the first one computed on its way.
        self._tape = [*entry.inner, *tape]

    def as_entry(self, made: Grads) -> Entry:
        """Return the entry of the tape whose outputs are ``made``."""
        entry = self._entry
        inputs = {f"{kind}:{n}": t for kind, n, t in self._operands()}
        return Entry(
            "gradient", inputs, made, rule=self._rule, inner=self._tape, function=entry.function
        )

    def _operands(self) -> Iterator[tuple[str, str, Tensor]]:
        """Yield what the gradient is a function of."""
        entry = self._entry
        groups = (("input", entry.inputs), ("output", entry.outputs), ("dy", self._given))
        for kind, tensors in groups:
            for name, tensor in tensors.items():
                if tensor.is_float:
                    yield kind, name, tensor

    def _rule(self, entry: Entry, grads: Grads) -> Grads:
        trace = next(iter(entry.outputs.values())).trace
        try:
            if self._entry.composed is not None:
                return self._by_composition(trace, entry, grads)
            return self._over_tape(trace, entry, grads)
        except NoGradient as lack:
            name = self._entry.function or self._entry.row
            message = f"vjp: {name} has no second derivative ({lack.row})"
            raise NoGradient(message, lack.row) from None

    def _over_tape(self, trace: Trace, entry: Entry, grads: Grads) -> Grads:
        from sycl_dnn.dispatch.differentiated import added, propagate

        seeds: dict[int, Tensor] = {}
        for name, grad in grads.items():
            key = id(self._found[name])
            seeds[key] = added(seeds[key], grad) if key in seeds else grad
        stand_ins = self._stand_ins(trace, (self._found[n] for n in grads))
        operands = _distinct(entry.inputs)
        wanted = [*operands.values(), *(t for t, _ in stand_ins)]
        with training(trace):
            found = propagate(trace, self._tape, seeds, wanted)
        names = [*operands, *(n for _, n in stand_ins)]
        made: Grads = {}
        for name, part in zip(names, found, strict=True):
            if part is None:
                continue
            slope = trace.convert(part, entry.inputs[name].dtype)
            made[name] = added(made[name], slope) if name in made else slope
        return made

    def _by_composition(self, trace: Trace, entry: Entry, grads: Grads) -> Grads:
        """Differentiate the reverse pass of a composition that says the same as the operation."""
        from sycl_dnn.dispatch.differentiated import propagate

        forward = self._entry
        with training(trace):
            start = len(trace.tape)
            value = forward.composed()  # type: ignore[misc]
            values = value if isinstance(value, Mapping) else {"dst": value}
            seeds = {id(values[n]): g for n, g in self._given.items() if n in values}
            tape = trace.tape[start:]
            # An operand given twice has one gradient, which both names lead to.
            asked = _distinct({n: forward.inputs[n] for n in grads})
            slopes = propagate(trace, tape, seeds, list(asked.values()))
            pairs = zip(asked, slopes, strict=True)
            again = {id(t): grads[n] for n, t in pairs if t is not None}
            operands = _distinct(entry.inputs)
            found = propagate(trace, trace.tape[start:], again, list(operands.values()))
        return {n: g for n, g in zip(operands, found, strict=True) if g is not None}

    def _stand_ins(self, trace: Trace, roots: Iterable[Tensor]) -> list[tuple[Tensor, str]]:
        """Return tensors that the inner tape starts from beside the operands, with the operand.

        Raises
        ------
        NoGradient
            The tape does not show how such a tensor depends on the operands.
        """
        operands = [(f"{kind}:{n}", t) for kind, n, t in self._operands()]
        operands += [(f"input:{n}", t) for n, t in self._entry.args.items() if t.is_float]
        known = {id(t) for _, _, t in self._operands()}
        found = []
        for leaf in leaves_of(self._tape, roots, known):
            name = _operand_of(trace, leaf, operands)
            if name is not None:
                found.append((leaf, name))
            elif _depends(trace, leaf, {id(t.storage) for _, t in operands}):
                raise NoGradient("vjp: no second derivative", "its gradient")
        return found


def composed_rule(row: str) -> Callable[[Composition], Composition]:
    """Register what a backward primitive computes as operations that have gradients.

    ``composition(entry)`` returns its outputs by name; those it leaves out have no gradient.
    """

    def register(composition: Composition) -> Composition:
        @rule_for(row)
        def rule(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
            from sycl_dnn.dispatch.differentiated import propagate

            start = len(trace.tape)
            made = composition(entry)
            if not grads.keys() <= made.keys():
                raise NoGradient(f"vjp: {row} has no gradient", row)
            seeds = {id(made[n]): trace.convert(g, made[n].dtype) for n, g in grads.items()}
            operands = _distinct({n: t for n, t in entry.inputs.items() if t.is_float})
            found = propagate(trace, trace.tape[start:], seeds, list(operands.values()))
            return {n: g for n, g in zip(operands, found, strict=True) if g is not None}

        return composition

    return register


def _distinct(tensors: Mapping[str, Tensor]) -> Grads:
    """Return the tensors by name, each once."""
    names = {id(t): n for n, t in tensors.items()}
    return {n: tensors[n] for n in names.values()}


@contextlib.contextmanager
def training(trace: Trace) -> Iterator[None]:
    """Let forward primitives write the workspaces that gradients need."""
    known, trace.training = trace.training, True
    try:
        yield
    finally:
        trace.training = known


def leaves_of(
    tape: list[Entry], roots: Iterable[Tensor], known: Iterable[int] = ()
) -> list[Tensor]:
    """Return the floating-point tensors that ``roots`` depend on and no entry makes."""
    makers = {id(t): e for e in tape for t in e.outputs.values()}
    stack, seen, found = list(roots), set(known), []
    while stack:
        tensor = stack.pop()
        if id(tensor) in seen or not tensor.is_float:
            continue
        seen.add(id(tensor))
        entry = makers.get(id(tensor))
        if entry is not None:
            stack += entry.inputs.values()
        elif tensor.storage.memory is None:
            found.append(tensor)
    return found


def _place(t: Tensor) -> tuple[Any, ...]:
    return id(t.storage), t.offset, t.shape


def _operand_of(trace: Trace, leaf: Tensor, operands: list[tuple[str, Tensor]]) -> str | None:
    """Return the operand that ``leaf`` shows in whole, as it is or copied to another layout."""
    tensor = leaf
    while tensor is not None:
        for name, known in operands:
            if _place(known) == _place(tensor) and known.desc == tensor.desc:
                return name
        copied = [s for s in _writers(trace, tensor) if s.outputs.get("dst") is not None]
        if len(copied) != 1:
            return None
        step = copied[0]
        is_copy = getattr(getattr(step, "primitive", None), "name", "") == "reorder"
        whole = step.outputs["dst"]
        if not is_copy or _place(whole) != _place(tensor) or set(step.inputs) != {"src"}:
            return None
        tensor = step.inputs["src"]
    return None


def _writers(trace: Trace, tensor: Tensor) -> list[Any]:
    return [s for s in trace.steps if any(t.storage is tensor.storage for t in s.outputs.values())]


def _depends(trace: Trace, leaf: Tensor, operands: set[int]) -> bool:
    """Whether the elements of ``leaf`` were computed from the operands' storages."""
    wanted = {id(leaf.storage)}
    if wanted & operands:
        return True
    for step in reversed(trace.steps):
        if any(id(t.storage) in wanted for t in step.outputs.values()):
            wanted |= {id(t.storage) for t in step.inputs.values() if t.is_float}
            if wanted & operands:
                return True
    return False
