# SPDX-License-Identifier: Apache-2.0
"""``vjp``: a function's value and the pullback of its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpnp

from sycl_dnn.dispatch import allocation, arguments, cache, layout, policy, structure
from sycl_dnn.dispatch.arguments import Collected
from sycl_dnn.dispatch.array import Array, wrapped
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.gradients import gradients_of
from sycl_dnn.dispatch.outputs import Target
from sycl_dnn.dispatch.places import Place, place_of
from sycl_dnn.dispatch.program import finalized, live_steps
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Entry, NeedsAnotherDevice, Trace

__all__ = ["Pullback", "vjp"]


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
        for name, grad in gradients_of(trace, entry, given, needed).items():
            if name in needed and grad is not None:
                key = id(entry.inputs[name])
                grads[key] = _sum(trace, grads[key], grad) if key in grads else grad
    return [grads.get(id(t)) for t in wanted]


def _sum(trace: Trace, a: Tensor, b: Tensor) -> Tensor:
    from sycl_dnn.dispatch.primitives import add

    return add(a, b)


class _Plan:
    """The executables of a function and of its reverse pass."""

    def __init__(self, place: Place, body: Callable[..., Any], args: Any, kwargs: Any) -> None:
        trace = Trace(place.engine, training=True)
        swapped, named = arguments.traced(trace, args, kwargs)
        leaves, self.form = structure.flatten(body(*swapped, **named))
        inputs, self.input_form = _positional(swapped)
        finals = finalized(trace, leaves)
        n_forward, given, tape = len(trace.steps), len(trace.arguments), list(trace.tape)
        #: Numbers of the results that have gradients.
        self.seeded = [i for i, t in enumerate(leaves) if t.is_float]
        seeds: dict[int, Tensor] = {}
        for i in self.seeded:
            final = finals[i]
            seed = trace.argument(final.shape, final.dtype, final.strides)
            old = seeds.get(id(leaves[i]))
            seeds[id(leaves[i])] = seed if old is None else _sum(trace, old, seed)
        self.seed_tensors = [finals[i] for i in self.seeded]
        wanted = [t for t in inputs if t.is_float]
        found = propagate(trace, tape, seeds, wanted)
        #: For each positional array: number among the gradients, None without one.
        self.gradient_of = []
        targets, grads = {}, []
        for tensor in inputs:
            grad = found[wanted.index(tensor)] if tensor in wanted else None
            self.gradient_of.append(None if grad is None else len(grads))
            if grad is not None:
                targets[len(grads)] = Target(layout.like(tensor.desc, tensor.dtype), False, False)
                grads.append(grad)
        grad_finals = finalized(trace, grads, targets)
        later = trace.steps[n_forward:]
        read = [t.storage for s in live_steps(later, [g.storage for g in grad_finals]) for t in s.inputs.values()]
        made_later = {id(t.storage) for s in later for t in s.outputs.values()}
        seed_storages = trace.arguments[given:]
        kept = list(dict.fromkeys(
            s for s in read
            if id(s) not in made_later and s not in seed_storages and s.memory is None
        ))
        for storage, name in trace.written:
            if storage in kept:
                raise ValueError(f"{name} must not be updated after a use that has a gradient")
        early = trace.arguments[:given]
        self.forward = Executable(trace, trace.steps[:n_forward], finals, early, kept)
        self.reverse = Executable(trace, later, grad_finals, [*seed_storages, *kept])
        #: Argument of the reverse pass: that of the forward pass which it is.
        self.passed_on = {
            len(seed_storages) + i: s.argument for i, s in enumerate(kept) if s.argument is not None
        }


def _positional(value: Any) -> tuple[list[Tensor], Any]:
    """Return the tensors of positional arguments, and their form; other values count as None."""
    if isinstance(value, Tensor):
        return [value], structure.LEAF
    if isinstance(value, (tuple, list)):
        leaves, forms = [], []
        for item in value:
            inner, form = _positional(item)
            leaves += inner
            forms.append(form)
        is_named = hasattr(value, "_fields")
        return leaves, (type(value) if is_named else tuple if isinstance(value, tuple) else list, forms)
    return [], None


class Pullback:
    """Maps the gradient of a function's result to the gradients of its arguments.

    It holds what the forward pass left for that; it may be called more than once.
    """

    def __init__(self, plan: _Plan, queue: Any, stream: Any, kept: list[Any], found: Collected):
        self._plan = plan
        self._queue = queue
        self._stream = stream
        self._kept = kept
        self._given = found.arrays
        self._frozen = found.frozen

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        """Return one gradient for each positional argument.

        Parameters
        ----------
        dy : dpnp.ndarray or Array
            Shape and dtype of the result. For a function that returns several arrays, the same
            structure; None stands for zeros.

        Returns
        -------
        tuple
            By positional argument: an array of its shape, dtype and order of axes, a list for a
            list of arrays; None for what has no gradient (integers, parameters).
        """
        plan = self._plan
        seeds = [self._seed(d, t) for d, t in zip(self._leaves(dy), plan.seed_tensors, strict=True)]
        kind = allocation.coerced_kind(self._given)
        registers = plan.reverse.run(
            self._queue, self._stream, [*seeds, *self._kept], kind, None, self._frozen
        )
        made = [
            wrapped(registers[r], dtype)
            for r, dtype in zip(plan.reverse.results, plan.reverse.result_dtypes, strict=True)
        ]
        leaves = [None if n is None else made[n] for n in plan.gradient_of]
        return tuple(structure.build(plan.input_form, leaves))

    def _leaves(self, dy: Any) -> list[Any]:
        form = self._plan.form
        if form == structure.LEAF:
            return [dy]
        flat = structure.matched(form, dy, "dy")
        return [flat[i] for i in self._plan.seeded]

    def _seed(self, dy: Any, tensor: Tensor) -> Any:
        """Return the usm_ndarray of a gradient in the layout of the result that it belongs to."""
        if dy is None:
            dtype = allocation.blank_of(tensor).dtype
            dy = dpnp.zeros(tensor.shape, dtype=dtype, sycl_queue=self._queue)
            dy = Array(dy, tensor.dtype) if tensor.dtype in _CARRIED else dy
        name = dy.dtype if isinstance(dy, Array) else getattr(dy.dtype, "name", None)
        if dy.shape != tensor.shape or name != tensor.dtype:
            raise ValueError(
                f"pullback: dy must have shape {tensor.shape} and dtype {tensor.dtype}, got "
                f"{dy.shape} and {name}"
            )
        array = dy.get_array()
        if array.sycl_queue != self._queue:
            raise arguments.ExecutionPlacementError(
                "pullback: dy must be on the queue of the function's arrays"
            )
        if array.strides == tensor.strides:
            return array
        same = allocation.blank_of(tensor).new(self._queue)
        allocation.wrap(same)[...] = allocation.wrap(array)
        return same


_CARRIED = arguments.dtypes.CARRIED


def vjp(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
    """Return ``function(*args, **kwargs)`` and the pullback of its gradient.

    Parameters
    ----------
    function : callable
        One of ``sycl_dnn.functional``, or a function of yours that calls those. It is traced: its
        Python code runs once for each combination of shapes and parameters, so it must not depend
        on values.
    *args
        Arrays, nested lists of arrays, and parameters.
    **kwargs
        Parameters; arrays among them are constants to the gradient.

    Returns
    -------
    y, pullback
        ``pullback(dy)`` returns one gradient for each positional argument.

    Raises
    ------
    NotImplementedError
        An operation on the way has no gradient.
    """
    found = Collected()
    key = ["vjp", function, policy.current(), found.token(args)]
    for name, value in kwargs.items():
        key += [name, found.token(value)]
    queue = arguments.shared_queue(found.arrays, getattr(function, "__name__", "vjp"))
    place, stream = place_of(queue)
    if not arguments.is_describable(found.arrays):
        swap = arguments.describable
        swapped = [arguments.replaced(a, swap) for a in args]
        return vjp(function, *swapped, **{n: arguments.replaced(v, swap) for n, v in kwargs.items()})
    key = (*key, place)
    plan = cache.get(key)
    if plan is None:
        operation = getattr(function, "operation", None)
        body = function if operation is None else operation.body
        try:
            plan = cache.make(key, lambda: _Plan(place, body, args, kwargs))
        except NeedsAnotherDevice as lack:
            from sycl_dnn.dispatch.elsewhere import vjp_on_cpu

            return vjp_on_cpu(vjp, function, lack, queue, args, kwargs)
    kind = allocation.coerced_kind(found.arrays)
    forward = plan.forward
    registers = forward.run(queue, stream, found.arrays, kind, None, found.frozen)
    leaves = [
        found.objects[r] if r < len(found.objects) else wrapped(registers[r], dtype)
        for r, dtype in zip(forward.results, forward.result_dtypes, strict=True)
    ]
    kept = [registers[r] for r in forward.kept]
    pullback = Pullback(plan, queue, stream, kept, found)
    return structure.build(plan.form, leaves), pullback
