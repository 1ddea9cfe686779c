# SPDX-License-Identifier: Apache-2.0
"""The reverse pass over a tape; gradients of primitives by backward primitives.

The rule of a row is beside the function that records it. What a backward row reads and writes
follows from its signature: ``diff_X`` among the inputs is the gradient of the output ``X``, among
the outputs that of the input ``X``; any other input is an argument of the forward row.

What a reverse pass records is on the tape like everything else, so an outer reverse pass
differentiates it. A backward primitive without a gradient is one entry with that of a composition,
which records the forward operation by operations that can be differentiated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn.trace import functions, layout, policy
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.slices import WHOLE, Part, Slice
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor, alias

Grads = dict[str, Tensor]
Rule = Callable[[Trace, Entry, Grads, set[str]], Grads]
Composition = Callable[[Mapping[str, Tensor]], Grads]

#: Rules by row; ``rule_for`` adds to it.
RULES: dict[str, Rule] = {}


def rule_for(row: str) -> Callable[[Rule], Rule]:
    """Register the gradient of a row: ``rule(trace, entry, grads, needed) -> grads by input``."""

    def register(rule: Rule) -> Rule:
        RULES[row] = rule
        return rule

    return register


def backward(
    trace: Trace,
    row: str,
    entry: Entry,
    grads: Mapping[str, Tensor],
    dtype: str | None = None,
    **params: Any,
) -> Grads:
    """Record one backward primitive; return the gradients of the inputs that it writes.

    ``params`` overrides parameters of the forward primitive. Gradients have the dtypes of their
    inputs, or ``dtype``.
    """
    reads, writes = (names.split() for names in _core.ROWS[row][1].split("->"))
    inputs: Grads = {}
    requested_layouts: dict[str, Any] = {}
    for name in reads:
        source = name.removeprefix("diff_")
        is_gradient = source != name
        values = grads if is_gradient else entry.inputs | entry.outputs
        if source not in values:
            continue
        inputs[name] = values[source]
        if is_gradient:
            # The gradient of a result is in the layout that the result had.
            like = entry.outputs[source].desc
            requested_layouts[name] = layout.like(like, dtype or values[source].dtype)
        elif _is_packed(name):
            requested_layouts[name] = "any"
        elif name in entry.args:
            requested_layouts[name] = entry.args[name].desc
    outputs = {}
    for name in writes:
        source = name.removeprefix("diff_")
        if source in entry.inputs:
            of = entry.inputs[source]
            requested = "any" if _is_packed(name) else entry.args[source]
            outputs[name] = Out(of.shape, dtype or of.dtype, requested)
    names = _core.ROWS[row][0].split()
    parameters = {n: entry.params[n] for n in names if n in entry.params} | params
    if "hint_fwd_pd" in names:
        parameters["hint_fwd_pd"] = entry.pd
    results = trace.primitive(row, inputs, outputs, ask=requested_layouts, **parameters)
    return {n.removeprefix("diff_"): t for n, t in results.items() if n.startswith("diff_")}


def _is_packed(name: str) -> bool:
    """Whether primitives prefer their own layouts, each another, for an argument."""
    return "weights" in name


def gradients_of(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Record the gradients of an entry's inputs by name, from the gradients of its outputs.

    What is recorded is on the tape, so it has gradients, too.

    Raises NotImplementedError if the operation has no gradient.
    """
    start = len(trace.tape)
    if entry.composed is None:
        grads = _by_rule(trace, entry, grads, needed)
    else:
        grads = _by_composition(trace, entry, entry.composed, grads, needed)
    for recorded in trace.tape[start:]:
        recorded.function = f"the gradient of {entry.function or entry.row}"
    return grads


def _by_rule(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    if entry.rule is not None:
        return entry.rule(entry, grads)
    if entry.has_post_ops:
        raise NotImplementedError(f"vjp: {entry.row} with post-ops has no gradient")
    if entry.row in RULES:
        return RULES[entry.row](trace, entry, grads, needed)
    name = entry.function or entry.row
    row = f" ({entry.row})" if entry.function else ""
    raise NotImplementedError(f"vjp: {name} has no gradient{row}")


@rule_for("view")
def _of_view(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    (source,), rule, dy = entry.inputs.values(), entry.params["rule"], grads["dst"]
    if isinstance(rule, Slice):
        return {"src": functions.sum_of_parts(source, None, [Part(dy, rule.cuts)])}
    return {"src": rule(dy)}


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


# --- Tensors with custom gradients, and gradients that are recomputed


def separate(tensor: Tensor) -> Tensor:
    """Return ``alias(tensor)``, which shares the gradient of ``tensor``.

    Code of the user may write to what it gets, and operands of a sum have one gradient.
    """
    return tensor.trace.view(tensor, alias(tensor), lambda grad: grad)


def _by_composition(
    trace: Trace, entry: Entry, composed: Composition, grads: Grads, needed: set[str]
) -> Grads:
    """Record the gradients by the entry's rule; the composition defines further derivatives."""
    part = trace.tape_part(is_apart=True)
    try:
        input_grads = _by_rule(trace, entry, grads, needed)
    finally:
        part.end()
    input_grads = {n: alias(g) for n, g in input_grads.items() if n in needed and g is not None}
    operands = entry.inputs | {f"dy:{n}": g for n, g in grads.items()}

    def rule(_: Entry, slopes: Grads) -> Grads:
        start = len(trace.tape)
        inputs = {n: entry.inputs[n] for n in slopes}
        again = recomputed(trace, lambda: composed(entry.inputs), grads, inputs)
        seeds = summed((again[n], slopes[n]) for n in again)
        return gradients_by_name(trace, trace.tape[start:], seeds, operands)

    trace.tape.append(Entry("gradient", operands, input_grads, rule=rule))
    return input_grads


def _distinct(tensors: Mapping[str, Tensor]) -> Grads:
    """Return the tensors by name, each once."""
    names = {id(t): n for n, t in tensors.items()}
    return {n: tensors[n] for n in names.values()}


def recomputed(trace: Trace, body: Callable[[], Grads], grads: Grads, inputs: Grads) -> Grads:
    """Record a function once more; return its gradients by input for gradients of its results."""
    start, saved = len(trace.tape), trace.training
    trace.training = True  # so that primitives write the workspaces that gradients need
    try:
        results = body()
        seeds = summed((results[n], g) for n, g in grads.items() if n in results)
        return gradients_by_name(trace, trace.tape[start:], seeds, inputs)
    finally:
        trace.training = saved


def _reads(entry: Entry, tensor: Tensor) -> bool:
    return any(t is tensor for t in entry.inputs.values())


def leaves_of(tape: list[Entry], roots: Iterable[Tensor]) -> list[Tensor]:
    """Return the floating-point tensors that ``roots`` depend on and no entry produces."""
    # An operation without effect, such as padding by 0, returns its operand.
    producers = {id(t): e for e in tape for t in e.outputs.values() if not _reads(e, t)}
    stack, seen, leaves = list(roots), set[int](), []
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


# --- The reverse pass over a tape


class _Gradients:
    """The gradients that a reverse pass has so far, by tensor.

    Those of slices are kept apart until all are known: one step adds them, and parts that lie
    beside each other need no addition.
    """

    def __init__(self, trace: Trace, seeds: Mapping[int, Tensor]) -> None:
        self._trace, self._wholes = trace, dict(seeds)
        self._parts: dict[int, list[Part]] = {}

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor has a gradient."""
        return id(tensor) in self._wholes or id(tensor) in self._parts

    def add(self, tensor: Tensor, gradient: Tensor) -> None:
        """Add to the gradient of a tensor."""
        accumulate(self._wholes, tensor, gradient)

    def add_parts(self, tensor: Tensor, parts: list[Part]) -> None:
        """Add to slices of the gradient of a tensor."""
        self._parts.setdefault(id(tensor), []).extend(parts)

    def take_parts(self, tensor: Tensor) -> list[Part]:
        """Remove the gradient of a tensor; return it as parts."""
        parts, whole = self._parts.pop(id(tensor), []), self._wholes.pop(id(tensor), None)
        return parts if whole is None else [Part(whole, (WHOLE,) * tensor.ndim), *parts]

    def take(self, tensor: Tensor) -> Tensor:
        """Remove the gradient of a tensor, which it has, and return it."""
        parts = self._parts.pop(id(tensor), None)
        if parts is None:
            return self._wholes.pop(id(tensor))
        whole = self._wholes.pop(id(tensor), None)
        start = len(self._trace.tape)
        total = functions.sum_of_parts(tensor, whole, parts)
        for entry in self._trace.tape[start:]:
            entry.function = "the gradient of a slice"
        return total  # type: ignore[no-any-return]


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
    grads, of_targets = _Gradients(trace, seeds), dict[int, Tensor]()
    for entry in reversed(tape):
        # Outputs that are one tensor, as both gradients of a sum's operands are, have one gradient.
        outputs = {n: t for n, t in _distinct(entry.outputs).items() if grads.has(t)}
        needed = {n for n, t in entry.inputs.items() if id(t) in reached and t.is_float}
        if not outputs or not needed:
            continue
        rule = entry.params.get("rule")
        # Gradients have the dtypes of the forward pass.
        with policy.using(autocast=None):
            if isinstance(rule, Slice) and not target_ids.intersection(map(id, outputs.values())):
                grads.add_parts(entry.inputs["src"], rule.parts(grads.take_parts(outputs["dst"])))
                continue
            # Propagated once: a copy that several steps share may be on the tape more than once.
            output_grads = {n: grads.take(t) for n, t in outputs.items()}
            for name, tensor in outputs.items():
                # An entry may return its operand, whose gradient is not complete yet.
                if id(tensor) in target_ids and not _reads(entry, tensor):
                    accumulate(of_targets, tensor, output_grads[name])
            input_grads = gradients_of(trace, entry, output_grads, needed)
        for name, grad in input_grads.items():
            if name in needed and grad is not None:
                grads.add(entry.inputs[name], grad)
    with policy.using(autocast=None):
        for target in targets:
            if grads.has(target):
                gradient = grads.take(target)
                of_targets.setdefault(id(target), gradient)
    return [of_targets.get(id(t)) for t in targets]


def gradients_by_name(
    trace: Trace, tape: Sequence[Entry], seeds: dict[int, Tensor], inputs: Grads
) -> Grads:
    """Record the reverse pass over ``tape``; return the gradients of the inputs that have one.

    A tensor that occurs twice has one gradient, under one of its names.
    """
    targets = _distinct(inputs)
    pairs = zip(targets, propagate(trace, tape, seeds, list(targets.values())), strict=True)
    return {n: g for n, g in pairs if g is not None}


def independent(operands: Sequence[Tensor], results: Grads) -> None:
    """Record on the tape that operands have zero gradients."""
    rule = lambda entry, grads: {n: zeros_like(t) for n, t in entry.inputs.items()}  # noqa: E731
    inputs = {str(i): t for i, t in enumerate(operands) if t.is_float}
    operands[0].trace.tape.append(Entry("independent", inputs, results, rule=rule))


def accumulate(grads: dict[int, Tensor], tensor: Tensor, gradient: Tensor) -> None:
    """Add to the gradient of a tensor; ``grads`` has them by ``id`` of the tensor."""
    old = grads.get(id(tensor))
    grads[id(tensor)] = gradient if old is None else add(old, gradient)


def summed(pairs: Iterable[tuple[Tensor, Tensor]]) -> dict[int, Tensor]:
    """Return gradients by ``id`` of the tensor; a tensor may have several."""
    grads: dict[int, Tensor] = {}
    for tensor, gradient in pairs:
        accumulate(grads, tensor, gradient)
    return grads


def zeros_like(x: Tensor) -> Tensor:
    """Return the gradient of an operand that a result does not depend on."""
    return x.trace.zeros(layout.like(x.trace.plain(x).desc, x.dtype), x.shape, x.dtype)
