# SPDX-License-Identifier: Apache-2.0
"""A function and its reverse pass as one trace: two executables, or part of another trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call.argument_writes import refuse_inner
from sycl_dnn.call.attribute_changes import watched_inside
from sycl_dnn.lower.host_sequences import on_host
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.segments import finalized, live_steps
from sycl_dnn.trace import layout, nested_arguments
from sycl_dnn.trace.array import Target
from sycl_dnn.trace.gradients import accumulate, propagate, separate, zeros_like
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.trace_state import TapePart
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import filled


class Differentiated:
    """The executables of a function and of its reverse pass.

    Values that the reverse pass reads are kept between the two calls.
    """

    def __init__(
        self,
        trace: Trace,
        name: str,
        result: Any,
        args: Sequence[Any],
        wrt: Sequence[int] | None = None,
        has_aux: bool = False,
    ) -> None:
        """Record the reverse pass of a function that has been traced.

        ``trace``: one for training. ``name``: the name of the function. ``result``, ``args``: its
        result and its positional arguments, with tensors. ``wrt``: numbers of the positional
        arguments to differentiate; all by default. ``has_aux``: whether it returned a pair, of
        which only the first has gradients.
        """
        for entry in trace.tape:
            entry.function = entry.function or name
        leaves, self.form = nested_arguments.result_of(result, name, trace.capture)
        #: Structure of the pullback's argument, and its number of leaves.
        self.seed_form = self.form
        n_primary = len(leaves)
        if has_aux:
            primary, self.seed_form = nested_arguments.result_of(
                nested_arguments.primary_of(result, name), name, trace.capture
            )
            n_primary = len(primary)
        inputs, self.input_form = nested_arguments.arguments_of(
            list(args) if wrt is None else [args[i] for i in wrt]
        )
        finals = finalized(trace, leaves)
        #: Number of arrays passed by a forward call.
        self.n_given = len(trace.arguments)
        n_steps, n_forward, tape = len(trace.steps), len(trace.arguments), list(trace.tape)
        #: Numbers of the results that have gradients, and how those results are laid out.
        self.seeded = [i for i, t in enumerate(leaves[:n_primary]) if t.is_float]
        self.seed_tensors = [finals[i] for i in self.seeded]
        seeds = self._seeds(trace, leaves)
        grads = self._gradients(trace, tape, seeds, inputs)
        forward_arguments, later_given = trace.arguments[:n_forward], trace.arguments[n_forward:]
        n_seeds = len(self.seed_tensors)
        seed_storages, captured = later_given[:n_seeds], later_given[n_seeds:]
        # Captures that only the reverse pass reads are arguments of the forward pass, which keeps
        # them.
        trace.renumber(captured, n_forward)
        forward_arguments = [*forward_arguments, *captured]
        self.n_given += len(captured)
        fuses = trace.fuses_kernels
        later = on_host(trace, trace.steps[n_steps:], grads, fuses_kernels=fuses)
        forward = trace.steps[:n_steps]
        saved = _saved(later, grads, seed_storages)
        saved = [_unwritten(trace, s, forward, later) for s in saved]
        forward = on_host(trace, forward, finals, saved, fuses_kernels=fuses)
        self.forward = Executable(trace, forward, finals, forward_arguments, saved)
        self.reverse = Executable(trace, later, grads, [*seed_storages, *saved])
        self._end(trace)

    def _end(self, trace: Trace) -> None:
        trace.end()
        # The forward pass returns them, since a seed must not be drawn again.
        self.reverse.give()
        self.reverse.numbers = []
        trace.tape = []  # executables keep the trace

    def nested(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Return gradients nested like the arguments, None if there is none."""
        leaves = [None if n is None else gradients[n] for n in self.gradient_of]
        return tuple(self.input_form.build(leaves))

    def _seeds(self, trace: Trace, leaves: Sequence[Tensor]) -> dict[int, Tensor]:
        """Return the gradients of the results, arguments of the reverse pass."""
        seeds: dict[int, Tensor] = {}
        for number, final in zip(self.seeded, self.seed_tensors, strict=True):
            seed = trace.argument(final.shape, final.dtype, final.strides)
            accumulate(seeds, leaves[number], seed)
        return seeds

    def _gradients(
        self, trace: Trace, tape: Any, seeds: dict[int, Tensor], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """Record the reverse pass; return the gradients in the layouts of their arrays."""
        differentiable = [t for t in inputs if t.is_float]
        pairs = zip(differentiable, propagate(trace, tape, seeds, differentiable), strict=True)
        grads_by_id = {id(t): zeros_like(t) if g is None else g for t, g in pairs}
        #: For each positional array: number among the gradients, None without one.
        self.gradient_of: list[int | None] = []
        grads: list[Tensor] = []
        targets: dict[int, Target] = {}
        for tensor in inputs:
            grad = grads_by_id.get(id(tensor))
            self.gradient_of.append(None if grad is None else len(grads))
            if grad is not None:
                targets[len(grads)] = Target(layout.like(tensor.desc, tensor.dtype), False, False)
                grads.append(grad)
        return finalized(trace, grads, targets)


def _saved(
    later: Sequence[Any], grads: Sequence[Tensor], seeds: Sequence[Storage]
) -> list[Storage]:
    """Return the values of the forward pass that the reverse pass reads, each once."""
    live = live_steps(later, [g.storage for g in grads])
    own_ids = {id(t.storage) for s in later for t in s.outputs.values()} | {id(s) for s in seeds}
    read = [t.storage for s in live for t in s.inputs.values()]
    return list(dict.fromkeys(s for s in read if id(s) not in own_ids and s.memory is None))


def _unwritten(trace: Trace, storage: Storage, forward: list[Any], later: Sequence[Any]) -> Storage:
    """Return a storage with the values of an updated argument that the reverse pass reads.

    These are its last ones: gradients of reads before an update read a copy of the old ones.
    """
    if all(s is not storage for s, _ in trace.written):
        return storage
    desc = storage.desc
    dtype = dtypes.NAMES[desc.data_type]
    original, copy = (Tensor(trace, s, desc, dtype, desc.dims) for s in (storage, Storage(desc)))
    forward.append(trace.copy_step(original, copy))
    for step in later:
        for key, t in step.inputs.items():
            if t.storage is storage:
                step.inputs[key] = Tensor(
                    trace, copy.storage, t.desc, t.dtype, t.shape, t.offset, t.strides
                )
    return copy.storage


# --- ``vjp`` inside a traced function: both passes join its trace


class InnerPullback:
    """Records the reverse pass of a traced function each time it is called."""

    def __init__(
        self, trace: Any, part: Any, leaves: list[Tensor], form: Any, inputs: Any, args: Any
    ) -> None:
        self._trace, self._part = trace, part
        self._leaves, self._form = leaves, form
        self._inputs, self._input_form = inputs, args

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument; as the pullback of ``vjp``.

        ``dy``: shape and dtype of the result, nested as it is; None means zeros.
        """
        each = getattr(nested_arguments.trace_of(dy), "each", None)
        if each is not None:  # of vmap: dy differs from sample to sample, the function does not
            return each("pullback", self, (dy,), {})  # type: ignore[no-any-return]
        nested_arguments.trace_of((self._leaves, dy))  # raises if it has ended
        seeds = nested_arguments.replaced(self._form.matched(dy, "dy"), self._trace.capture)
        for value, leaf in zip(seeds, self._leaves, strict=True):
            if leaf.is_float:
                check_seed(value, leaf)
        grads = self._trace.logged(_pulled_back, self._part, self._leaves, seeds, self._inputs)
        return tuple(self._input_form.build(grads))


def check_seed(value: Any, leaf: Tensor) -> None:
    """Raise ValueError unless a value fits a result as its gradient; None means zeros."""
    if value is None:
        return
    if isinstance(value, (int, float)):
        if leaf.size != 1:
            raise ValueError(
                f"pullback: dy must be an array of shape {leaf.shape}; a number is accepted "
                "for results of one element"
            )
    elif value.shape != leaf.shape or value.dtype != leaf.dtype:
        raise ValueError(
            f"pullback: dy must have shape {leaf.shape} and dtype {leaf.dtype}, got "
            f"{value.shape} and {value.dtype}"
        )


def _pulled_back(
    part: TapePart, leaves: list[Tensor], values: list[Any], inputs: list[Tensor]
) -> list[Tensor | None]:
    """Record the reverse pass of a part of the tape; return the gradients of its inputs."""
    trace = part.trace
    seeds: dict[int, Tensor] = {}
    for leaf, value in zip(leaves, values, strict=True):
        if leaf.is_float:
            accumulate(seeds, leaf, _seed(trace, value, leaf))
    differentiable = [t for t in inputs if t.is_float]
    input_grads = propagate(trace, part.entries, seeds, differentiable)
    by_id = {
        id(t): separate(_in_layout_of(trace, t, g))
        for t, g in zip(differentiable, input_grads, strict=True)
    }
    return [by_id.get(id(t)) for t in inputs]


def _seed(trace: Trace, value: Any, leaf: Tensor) -> Tensor:
    if value is None:
        return trace.zeros(layout.row_major(leaf.shape, leaf.dtype), leaf.shape, leaf.dtype)
    if isinstance(value, (int, float)):
        return filled(trace, value, leaf.shape, leaf.dtype)
    return value


def _in_layout_of(trace: Trace, tensor: Tensor, grad: Tensor | None) -> Tensor:
    """Return a gradient in the layout of its array, zeros if there is none."""
    if grad is None:
        return zeros_like(tensor)
    plain = trace.plain(tensor)
    desc = layout.like(plain.desc, tensor.dtype)
    if grad.desc == desc:
        return grad
    return trace.view(grad, trace.reorder(grad, desc), lambda g: g)


def _with_own_gradients(tensors: list[Tensor]) -> list[Tensor]:
    """Return distinct copies of the tensors, each with its own gradient."""
    # An outer reverse pass follows the original tensor.
    return [separate(t) for t in tensors]


def inner_vjp(
    trace: Any,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: tuple[int, ...] | None = None,
    has_aux: bool = False,
) -> tuple[Any, InnerPullback]:
    """Return ``function(*args, **kwargs)`` over tensors, and its pullback.

    Gradients are those of the arguments that ``wrt`` names; with ``has_aux`` the function returns
    a pair of which only the first has gradients.

    Raises TypeError if the trace lowers dtypes, which gradients do not follow.
    """
    batching = trace.batching or (trace if trace.depth else None)
    if batching is not None:
        return batching.differentiated(inner_vjp, function, args, kwargs, wrt, has_aux)
    if trace.is_lowered:
        raise TypeError("vjp: a function compiled with its own dtype has no gradients inside")
    originals, args = args, tree.map(lambda v: _traced(trace, v), tuple(args))
    tensors = [v for v in tree.leaves(args) if isinstance(v, Tensor)]
    supply = iter(trace.logged(_with_own_gradients, tensors))
    part = trace.tape_part(training=True)
    args = tree.map(lambda v: next(supply) if isinstance(v, Tensor) else v, args)
    refuse_inner(args)
    try:
        with watched_inside(trace, originals, args):
            result = function(*args, **kwargs)
    finally:
        trace.logged(TapePart.end, part)
    name = getattr(function, "__name__", "vjp")
    seeded = nested_arguments.primary_of(result, name) if has_aux else result
    leaves, form = nested_arguments.result_of(seeded, name, trace.capture)
    inputs, input_form = nested_arguments.arguments_of(
        list(args) if wrt is None else [args[i] for i in wrt]
    )
    return result, InnerPullback(trace, part, leaves, form, inputs, input_form)


def _traced(trace: Any, value: Any) -> Any:
    is_array = hasattr(value, "get_array") and not isinstance(value, Tensor)
    return trace.capture(value) if is_array else value
