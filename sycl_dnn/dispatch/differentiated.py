# SPDX-License-Identifier: Apache-2.0
"""A function and its reverse pass as one trace, cut in two executables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn.call import nesting
from sycl_dnn.dispatch import layout, policy
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.higher_order import pulled_back
from sycl_dnn.dispatch.outputs import Target
from sycl_dnn.dispatch.program import finalized, live_steps
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace import Trace


class Differentiated:
    """The executables of a function and of its reverse pass.

    What the second reads of the first is kept from the one call to the other.
    """

    def __init__(
        self,
        trace: Trace,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        wrt: Sequence[int] | None = None,
        has_aux: bool = False,
    ) -> None:
        """Trace ``body`` over tensors.

        Parameters
        ----------
        trace : Trace
            One for training, empty but for the arguments.
        args, kwargs
            Those of the body, with tensors.
        wrt : sequence of int, optional
            Numbers of the positional arguments that gradients are wanted for; all without.
        has_aux : bool
            Whether the body returns a pair, of which only the first has gradients.
        """
        result = body(*args, **kwargs)
        name = getattr(body, "__name__", "vjp")
        for entry in trace.tape:
            entry.function = entry.function or name
        leaves, self.form = nesting.result_of(result, name, trace.capture)
        #: The form of what the pullback takes, and how many of the leaves that is.
        self.seed_form = self.form
        n_primary = len(leaves)
        if has_aux:
            primary, self.seed_form = nesting.result_of(
                nesting.primary_of(result, name), name, trace.capture
            )
            n_primary = len(primary)
        inputs, self.input_form = nesting.arguments_of(
            list(args) if wrt is None else [args[i] for i in wrt]
        )
        finals = finalized(trace, leaves)
        #: Arrays that a forward call takes.
        self.n_given = len(trace.arguments)
        n_steps, n_given, tape = len(trace.steps), len(trace.arguments), list(trace.tape)
        #: Numbers of the results that have gradients, and how those results are laid out.
        self.seeded = [i for i, t in enumerate(leaves[:n_primary]) if t.is_float]
        self.seed_tensors = [finals[i] for i in self.seeded]
        seeds = self._seeds(trace, leaves)
        grads = self._gradients(trace, tape, seeds, inputs)
        given, later_given = trace.arguments[:n_given], trace.arguments[n_given:]
        n_seeds = len(self.seed_tensors)
        seed_storages, captured = later_given[:n_seeds], later_given[n_seeds:]
        # What the reverse pass alone captures is an argument of the forward pass, which keeps it.
        trace.renumber(captured, n_given)
        given = [*given, *captured]
        self.n_given += len(captured)
        later = trace.steps[n_steps:]
        kept = _kept(trace, later, grads, seed_storages)
        self.forward = Executable(trace, trace.steps[:n_steps], finals, given, kept)
        self.reverse = Executable(trace, later, grads, [*seed_storages, *kept])
        trace.end()
        # The forward pass passes it on: a seed must not be drawn again.
        self.reverse.captured = []
        trace.tape = []  # executables keep the trace
        #: Argument of the reverse pass: that of the forward pass which it is.
        self.passed_on = {
            len(seed_storages) + i: s.argument for i, s in enumerate(kept) if s.argument is not None
        }

    def _seeds(self, trace: Trace, leaves: Sequence[Tensor]) -> dict[int, Tensor]:
        """Return the gradients of the results, arguments of the reverse pass."""
        seeds: dict[int, Tensor] = {}
        for number, final in zip(self.seeded, self.seed_tensors, strict=True):
            seed = trace.argument(final.shape, final.dtype, final.strides)
            old = seeds.get(id(leaves[number]))
            seeds[id(leaves[number])] = seed if old is None else added(old, seed)
        return seeds

    def _gradients(
        self, trace: Trace, tape: Any, seeds: dict[int, Tensor], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """Record the reverse pass; return the gradients in the layouts of their arrays."""
        wanted = [t for t in inputs if t.is_float]
        reached = zip(wanted, propagate(trace, tape, seeds, wanted), strict=True)
        found = {id(t): zeros_like(t) if g is None else g for t, g in reached}
        #: For each positional array: number among the gradients, None without one.
        self.gradient_of: list[int | None] = []
        grads: list[Tensor] = []
        targets: dict[int, Target] = {}
        for tensor in inputs:
            grad = found.get(id(tensor))
            self.gradient_of.append(None if grad is None else len(grads))
            if grad is not None:
                targets[len(grads)] = Target(layout.like(tensor.desc, tensor.dtype), False, False)
                grads.append(grad)
        return finalized(trace, grads, targets)


def _kept(
    trace: Trace, later: Sequence[Any], grads: Sequence[Tensor], seeds: Sequence[Storage]
) -> list[Storage]:
    """Return what the reverse pass reads of the forward pass, each once.

    Raises
    ------
    ValueError
        The function updates an array that is read after that.
    """
    live = live_steps(later, [g.storage for g in grads])
    own = {id(t.storage) for s in later for t in s.outputs.values()} | {id(s) for s in seeds}
    read = [t.storage for s in live for t in s.inputs.values()]
    kept = list(dict.fromkeys(s for s in read if id(s) not in own and s.memory is None))
    for storage, name in trace.written:
        if storage in kept:
            raise ValueError(f"{name} must not be updated after a use that has a gradient")
    return kept


def propagate(
    trace: Trace, tape: Sequence[Entry], seeds: dict[int, Tensor], wanted: Sequence[Tensor]
) -> list[Tensor | None]:
    """Record the reverse pass over ``tape``; return the gradients of ``wanted``.

    ``seeds`` has the gradients of results by ``id`` of the tensor.
    """
    reached = {id(t) for t in wanted}
    for entry in tape:
        if any(id(t) in reached for t in entry.inputs.values()):
            reached |= {id(t) for t in entry.outputs.values()}
    grads = dict(seeds)
    for entry in reversed(tape):
        given = {n: grads[id(t)] for n, t in entry.outputs.items() if id(t) in grads}
        needed = {n for n, t in entry.inputs.items() if id(t) in reached and t.is_float}
        if not given or not needed:
            continue
        # Passed on once: a copy that several steps share may stand on the tape more than once.
        for tensor in entry.outputs.values():
            grads.pop(id(tensor), None)
        # Gradients have the dtypes of the forward pass.
        with policy.using(autocast=None):
            found = pulled_back(trace, entry, given, needed)
        for name, grad in found.items():
            key = id(entry.inputs[name])
            grads[key] = added(grads[key], grad) if key in grads else grad
    return [grads.get(id(t)) for t in wanted]


def added(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of two gradients."""
    from sycl_dnn.dispatch.primitives import add

    return add(a, b)


def zeros_like(x: Tensor) -> Tensor:
    """Return the gradient of what a result does not depend on."""
    return x.trace.zeros(layout.like(x.trace.plain(x).desc, x.dtype), x.shape)
