# SPDX-License-Identifier: Apache-2.0
"""Gradients of primitives by backward primitives; reverse passes that can be differentiated.

Most rows have only the names of their backward rows. Their inputs and outputs follow from their
signatures: ``diff_X`` among the inputs is the gradient of the output ``X``, among the outputs that
of the input ``X``; any other input is an argument of the forward row.

The gradient of an entry is recorded with fast primitives, and the tape of that recording is kept
with the entry. An outer reverse pass differentiates that inner tape. If the inner tape does not
show how the gradient depends on its operands, a composition of the forward operation is used.
Without one, the outer pass raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn.trace import layout, policy
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Storage, Tensor, alias

Grads = dict[str, Tensor]
Rule = Callable[[Trace, Entry, Grads, set[str]], Grads]

#: Forward row: its backward rows.
BACKWARD: dict[str, tuple[str, ...]] = {
    "convolution_forward": ("convolution_backward_data", "convolution_backward_weights"),
    "deconvolution_forward": ("deconvolution_backward_data", "deconvolution_backward_weights"),
    "pooling_forward": ("pooling_backward",),
    "lrn_forward": ("lrn_backward",),
    "resampling_forward": ("resampling_backward",),
}
#: Inputs for which primitives prefer their own layouts.
_PACKED = ("weights", "diff_weights")
#: Rules of the rows without a backward row; ``rule_for`` adds to it.
RULES: dict[str, Rule] = {}


class NoGradient(NotImplementedError):
    """An operation has no gradient, or its gradient has none; ``row`` names it."""

    def __init__(self, message: str, row: str) -> None:
        super().__init__(message)
        self.row = row


def rule_for(row: str) -> Callable[[Rule], Rule]:
    """Register the gradient of a row: ``rule(trace, entry, grads, needed) -> grads by input``."""

    def register(rule: Rule) -> Rule:
        RULES[row] = rule
        return rule

    return register


def signature(row: str) -> tuple[list[str], list[str]]:
    """Return the execution arguments of a row: inputs, outputs."""
    inputs, outputs = _core.ROWS[row][1].split("->")
    return inputs.split(), outputs.split()


def backward(
    trace: Trace,
    row: str,
    entry: Entry,
    grads: Mapping[str, Tensor],
    needed: set[str],
    **params: Any,
) -> Grads:
    """Record one backward primitive; return the gradients of the inputs that it writes.

    ``params`` overrides parameters of the forward primitive.
    """
    reads, writes = signature(row)
    inputs: dict[str, Tensor] = {}
    requested_layouts: dict[str, Any] = {}
    for name in reads:
        tensor = _source(name, entry, grads)
        if tensor is None:
            continue
        inputs[name] = tensor
        if name in _PACKED:
            requested_layouts[name] = "any"
        elif name.startswith("diff_"):
            # The gradient of a result is in the layout that the result had.
            requested_layouts[name] = entry.outputs[name.removeprefix("diff_")]
    outputs = {name: _out(name, entry) for name in writes if _is_written(name, entry)}
    parameters = dict(_forward_parameters(row, entry), **params)
    results = trace.primitive(row, inputs, outputs, ask=requested_layouts, **parameters)
    return {n.removeprefix("diff_"): t for n, t in results.items() if n.startswith("diff_")}


def stands_for(trace: Trace, row: str, entry: Entry, grads: Grads, grad_src: Tensor) -> Grads:
    """Note that a kernel replaced backward primitive ``row``, for second derivatives."""
    out = {"diff_src": grad_src}
    trace.tape.append(Entry(row, grads, out, entry.params, pd=entry.pd))
    return {"src": grad_src}


def _source(name: str, entry: Entry, grads: Mapping[str, Tensor]) -> Tensor | None:
    if name.startswith("diff_"):
        return grads.get(name.removeprefix("diff_"))
    if name in entry.outputs:
        return entry.outputs[name]
    # Weights have a different layout in each primitive, so they are passed as the caller gave them.
    return (entry.inputs if name in _PACKED else entry.args).get(name)


def _is_written(name: str, entry: Entry) -> bool:
    return name.removeprefix("diff_") in entry.inputs


def _out(name: str, entry: Entry) -> Out:
    source = name.removeprefix("diff_")
    like = entry.inputs[source]
    return Out(like.shape, like.dtype, "any" if name in _PACKED else entry.args[source])


def _forward_parameters(row: str, entry: Entry) -> dict[str, Any]:
    names = _core.ROWS[row][0].split()
    parameters = {n: entry.params[n] for n in names if n in entry.params}
    if "hint_fwd_pd" in names:
        parameters["hint_fwd_pd"] = entry.pd
    return parameters


def gradients_of(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Return the gradients of an entry's inputs by name, from those of its outputs.

    Raises
    ------
    NoGradient
        The operation has no gradient.
    """
    if entry.rule is not None:
        return entry.rule(entry, grads)
    if entry.has_post_ops:
        raise NoGradient(f"vjp: {entry.row} with post-ops has no gradient", entry.row)
    if entry.row in RULES:
        return RULES[entry.row](trace, entry, grads, needed)
    if entry.row not in BACKWARD:
        name = entry.function or entry.row
        row = f" ({entry.row})" if entry.function else ""
        raise NoGradient(f"vjp: {name} has no gradient{row}", entry.row)
    input_grads: Grads = {}
    for row in BACKWARD[entry.row]:
        written = {n.removeprefix("diff_") for n in signature(row)[1]}
        if written & needed:
            input_grads |= backward(trace, row, entry, grads, needed)
    return input_grads


@rule_for("convert")
def _convert(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    return {"src": trace.convert(grads["dst"], entry.inputs["src"].dtype)}


def transposed(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Return the gradient of a backward row that is linear in ``diff_dst``: its forward row's."""
    like = entry.inputs["diff_dst"]
    outputs = trace.primitive(
        entry.row.replace("backward", "forward"),
        {"src": grads["diff_src"]},
        {"dst": Out(like.shape, like.dtype, like)},
        ask={"src": entry.outputs["diff_src"]},
        prop_kind=_core.prop_kind.forward_training,
        **{n: v for n, v in entry.params.items() if n not in ("prop_kind", "hint_fwd_pd")},
    )
    return {"diff_dst": outputs["dst"]}


rule_for("resampling_backward")(transposed)


# --- Reverse passes that can be differentiated themselves: each step of one is an entry of the tape


def stopped(x: Any) -> Any:
    """Return a traced value that is a constant to gradients; anything else unchanged."""
    return x.trace.logged(stop, x) if isinstance(x, Tensor) else x


def stop(x: Tensor) -> Tensor:
    """Return a tensor of the same elements that is a constant to gradients."""
    constant = alias(x)
    x.trace.tape.append(Entry("stop_gradient", {"src": x}, {"dst": constant}, rule=lambda e, g: {}))
    return constant


def pulled_back(trace: Trace, entry: Entry, output_grads: Grads, needed: set[str]) -> Grads:
    """Record the gradients of the ``needed`` inputs of an entry, as one entry of the tape."""
    part = trace.tape_part(is_apart=True)
    try:
        input_grads = gradients_of(trace, entry, output_grads, needed)
    finally:
        part.end()
    input_grads = {n: g for n, g in input_grads.items() if n in needed and g is not None}
    aliases = {n: alias(g) for n, g in input_grads.items()}
    trace.tape.append(_Reversed(entry, output_grads, input_grads, part.entries).as_entry(aliases))
    return aliases


class _Reversed:
    """The recorded gradient of one entry, and how it is differentiated."""

    def __init__(
        self, entry: Entry, output_grads: Grads, input_grads: Grads, tape: list[Entry]
    ) -> None:
        self._entry, self._output_grads, self._input_grads = entry, output_grads, input_grads
        # The gradient of a gradient reads intermediate values of the first one.
        self._tape = [*entry.inner, *tape]

    def as_entry(self, outputs: Grads) -> Entry:
        """Return the entry of the tape whose outputs are ``outputs``."""
        entry = self._entry
        inputs = {f"{kind}:{n}": t for kind, n, t in self._operands()}
        return Entry(
            "gradient", inputs, outputs, rule=self._rule, inner=self._tape, function=entry.function
        )

    def _operands(self) -> Iterator[tuple[str, str, Tensor]]:
        """Yield the tensors that the gradient is a function of."""
        entry = self._entry
        groups = (("input", entry.inputs), ("output", entry.outputs), ("dy", self._output_grads))
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
        except NoGradient as error:
            name = self._entry.function or self._entry.row
            message = f"vjp: {name} has no second derivative ({error.row})"
            raise NoGradient(message, error.row) from None

    def _over_tape(self, trace: Trace, entry: Entry, grads: Grads) -> Grads:
        seeds: dict[int, Tensor] = {}
        for name, grad in grads.items():
            accumulate(seeds, self._input_grads[name], grad)
        stand_ins = self._stand_ins(trace, (self._input_grads[n] for n in grads))
        operands = _distinct(entry.inputs)
        targets = [*operands.values(), *(t for t, _ in stand_ins)]
        with training(trace):
            parts = propagate(trace, self._tape, seeds, targets)
        names = [*operands, *(n for _, n in stand_ins)]
        slopes: Grads = {}
        for name, part in zip(names, parts, strict=True):
            if part is None:
                continue
            slope = trace.convert(part, entry.inputs[name].dtype)
            slopes[name] = added(slopes[name], slope) if name in slopes else slope
        return slopes

    def _by_composition(self, trace: Trace, entry: Entry, grads: Grads) -> Grads:
        """Differentiate the reverse pass of a composition equivalent to the operation."""
        forward = self._entry
        with training(trace):
            start = len(trace.tape)
            value = forward.composed()  # type: ignore[misc]
            values = value if isinstance(value, Mapping) else {"dst": value}
            seeds = {id(values[n]): g for n, g in self._output_grads.items() if n in values}
            tape = trace.tape[start:]
            # An operand that occurs twice has one gradient, under both names.
            inputs = _distinct({n: forward.inputs[n] for n in grads})
            slopes = propagate(trace, tape, seeds, list(inputs.values()))
            pairs = zip(inputs, slopes, strict=True)
            slope_seeds = {id(t): grads[n] for n, t in pairs if t is not None}
            operands = _distinct(entry.inputs)
            gradients = propagate(trace, trace.tape[start:], slope_seeds, list(operands.values()))
        return {n: g for n, g in zip(operands, gradients, strict=True) if g is not None}

    def _stand_ins(self, trace: Trace, roots: Iterable[Tensor]) -> list[tuple[Tensor, str]]:
        """Return tensors that the inner tape starts from besides the operands, with the operand.

        Raises
        ------
        NoGradient
            The tape does not show how such a tensor depends on the operands.
        """
        operands = [(f"{kind}:{n}", t) for kind, n, t in self._operands()]
        operands += [(f"input:{n}", t) for n, t in self._entry.args.items() if t.is_float]
        operand_ids = {id(t) for _, _, t in self._operands()}
        storages = {t.storage for _, t in operands}
        stand_ins, independent = [], set[Storage]()
        for leaf in leaves_of(self._tape, roots, operand_ids):
            name = _operand_of(trace, leaf, operands)
            if name is not None:
                stand_ins.append((leaf, name))
            elif _depends(trace, leaf.storage, storages, independent):
                raise NoGradient("vjp: no second derivative", "its gradient")
        return stand_ins


def _distinct(tensors: Mapping[str, Tensor]) -> Grads:
    """Return the tensors by name, each once."""
    names = {id(t): n for n, t in tensors.items()}
    return {n: tensors[n] for n in names.values()}


@contextlib.contextmanager
def training(trace: Trace) -> Iterator[None]:
    """Let forward primitives write the workspaces that gradients need."""
    saved, trace.training = trace.training, True
    try:
        yield
    finally:
        trace.training = saved


def _reads(entry: Entry, tensor: Tensor) -> bool:
    return any(t is tensor for t in entry.inputs.values())


def leaves_of(
    tape: list[Entry], roots: Iterable[Tensor], boundary: Iterable[int] = ()
) -> list[Tensor]:
    """Return the floating-point tensors that ``roots`` depend on and no entry produces."""
    # An operation without effect, such as padding by 0, returns its operand.
    producers = {id(t): e for e in tape for t in e.outputs.values() if not _reads(e, t)}
    stack, seen, leaves = list(roots), set(boundary), []
    while stack:
        tensor = stack.pop()
        if id(tensor) in seen or not tensor.is_float:
            continue
        seen.add(id(tensor))
        entry = producers.get(id(tensor))
        if entry is not None:
            stack += entry.inputs.values()
        elif tensor.storage.memory is None:
            leaves.append(tensor)
    return leaves


def _place(t: Tensor) -> tuple[Any, ...]:
    return id(t.storage), t.offset, t.shape


def _operand_of(trace: Trace, leaf: Tensor, operands: list[tuple[str, Tensor]]) -> str | None:
    """Return the operand that ``leaf`` views in whole, itself or copied to another layout."""
    tensor = leaf
    while tensor is not None:
        for name, operand in operands:
            if _place(operand) == _place(tensor) and operand.desc == tensor.desc:
                return name
        copies = [s for s in trace.writers_of(tensor.storage) if "dst" in s.outputs]
        if len(copies) != 1:
            return None
        step = copies[0]
        is_copy = getattr(getattr(step, "primitive", None), "name", "") == "reorder"
        copied = step.outputs["dst"]
        if not is_copy or _place(copied) != _place(tensor) or set(step.inputs) != {"src"}:
            return None
        tensor = step.inputs["src"]
    return None


def _depends(trace: Trace, storage: Storage, operands: set[Storage], seen: set[Storage]) -> bool:
    """Whether a storage was computed from the operands' storages.

    ``seen`` has storages that were not; those visited are added to it.
    """
    stack = [storage]
    while stack:
        storage = stack.pop()
        if storage in operands:
            return True
        if storage not in seen:
            seen.add(storage)
            for step in trace.writers_of(storage):
                stack += (t.storage for t in step.inputs.values() if t.is_float)
    return False


# --- The reverse pass over a tape


def propagate(
    trace: Trace, tape: Sequence[Entry], seeds: dict[int, Tensor], targets: Sequence[Tensor]
) -> list[Tensor | None]:
    """Record the reverse pass over ``tape``; return the gradients of ``targets``.

    ``seeds`` has the gradients of results by ``id`` of the tensor.
    """
    target_ids = {id(t) for t in targets}
    reached = set(target_ids)
    for entry in tape:
        if any(id(t) in reached for t in entry.inputs.values()):
            reached |= {id(t) for t in entry.outputs.values()}
    grads = dict(seeds)
    of_targets: dict[int, Tensor] = {}
    for entry in reversed(tape):
        # Outputs that are one tensor, as both gradients of a sum's operands are, have one gradient.
        outputs = _distinct(entry.outputs)
        output_grads = {n: grads[id(t)] for n, t in outputs.items() if id(t) in grads}
        needed = {n for n, t in entry.inputs.items() if id(t) in reached and t.is_float}
        if not output_grads or not needed:
            continue
        # Propagated once: a copy that several steps share may be on the tape more than once.
        for tensor in entry.outputs.values():
            gradient = grads.pop(id(tensor), None)
            # An entry may return its operand, whose gradient is not complete yet.
            if gradient is not None and id(tensor) in target_ids and not _reads(entry, tensor):
                accumulate(of_targets, tensor, gradient)
        # Gradients have the dtypes of the forward pass.
        with policy.using(autocast=None):
            input_grads = pulled_back(trace, entry, output_grads, needed)
        for name, grad in input_grads.items():
            accumulate(grads, entry.inputs[name], grad)
    return [of_targets.get(id(t), grads.get(id(t))) for t in targets]


def added(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of two gradients."""
    from sycl_dnn.trace.pointwise import add

    return add(a, b)


def accumulate(grads: dict[int, Tensor], tensor: Tensor, gradient: Tensor) -> None:
    """Add to the gradient of a tensor; ``grads`` has them by ``id`` of the tensor."""
    old = grads.get(id(tensor))
    grads[id(tensor)] = gradient if old is None else added(old, gradient)


def zeros_like(x: Tensor) -> Tensor:
    """Return the gradient of an operand that a result does not depend on."""
    return x.trace.zeros(layout.like(x.trace.plain(x).desc, x.dtype), x.shape, x.dtype)
