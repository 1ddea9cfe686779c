# SPDX-License-Identifier: Apache-2.0
"""Gradients chosen by the user: none, by a custom rule, or recomputed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call.written_views import unwritten
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.gradients import (
    Grads,
    leaves_of,
    recomputed,
    separate,
    zeros_like,
)
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.torch_methods import detached
from sycl_dnn.trace.trace_state import TapePart, running, running_trace
from sycl_dnn.trace.values import Tensor, alias

#: The functions whose rule runs.
_inside: ContextVar[frozenset[Any]] = ContextVar("sycl_dnn_rules", default=frozenset())


def stop_gradient(x: Any) -> Any:
    """Return ``x``, which is constant to gradients of any order.

    Parameters
    ----------
    x : array or tree of arrays

    Returns
    -------
    array or tree of arrays
        The same values in the same memory; outside traced functions ``x`` itself.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> sycl_dnn.grad(lambda x: (x * sycl_dnn.stop_gradient(x)).sum())(F.ones(2)).tolist()
    [1.0, 1.0]
    """
    return tree.map(lambda leaf: detached(leaf) if isinstance(leaf, Tensor) else leaf, x)


class custom_vjp:  # noqa: N801 - used as a decorator
    """A function whose gradient you define.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays; it may be any function of this layer.

    Notes
    -----
    ``defvjp(forward, backward)`` defines the gradient. ``forward`` takes the arguments of
    ``function`` and returns the result and a tree of residuals, which ``backward(residuals, dy)``
    receives together with the gradient of the result. ``backward`` returns one gradient for each
    positional argument, nested like it; None means zeros. What the functions capture and named
    arguments have none. Higher-order gradients are those of ``forward`` and ``backward``, so the
    rule works at any order. In ``forward``, a call of the function is one of ``function`` itself.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> @sycl_dnn.custom_vjp
    ... def clipped(x):  # passes gradients of at most 1
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, dy: (F.clamp(dy, -1.0, 1.0),))
    >>> sycl_dnn.grad(lambda x: (5 * clipped(x)).sum())(F.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # A module has its own attributes.
        functools.update_wrapper(self, function, updated=())
        self._name = getattr(function, "__name__", "the function")
        self.function = function
        #: The arguments of ``defvjp``, which guards check.
        self.rule: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Define the gradient by ``forward`` and ``backward``."""
        self.rule = forward, backward

    def of(self, function: Callable[..., Any], rule: Any) -> custom_vjp:
        """Return the same for another function and another rule."""
        result = custom_vjp(function)
        result.rule = rule
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``function(*args, **kwargs)``."""
        tensors = [t for t in tree.leaves(args) if isinstance(t, Tensor)]
        trace = tensors[0].trace if tensors else running_trace()
        if trace is None or not trace.training or self in _inside.get():
            return self.function(*args, **kwargs)
        if self.rule is None:
            raise TypeError(f"custom_vjp: {self._name} has no rule yet; set it with defvjp")
        if not tensors:  # the rule has no gradients of captured values
            return stop_gradient(self.function(*args, **kwargs))
        return self.recorded(trace, self.rule[0], args, kwargs)

    def recorded(self, trace: Any, forward: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Record ``forward``, with its residuals as results that ``backward`` reads."""
        backward = self.rule[1]  # type: ignore[index]
        key = (self, trace.identity(backward))
        return self._recorded(trace, functools.partial(forward, **kwargs), backward, args, key)

    def _recorded(self, trace: Any, forward: Any, backward: Any, args: Any, key: Any) -> Any:
        batching = _batching_of(trace)
        if batching is not None:  # the same over wholes

            def forward_of_wholes(*wholes: Any) -> Any:
                return batching.over_wholes(forward, wholes)

            def backward_of_wholes(*wholes: Any) -> Any:
                return batching.over_wholes(backward, wholes)

            with batching.outside():
                return batching.mapped(
                    self._recorded(
                        batching.outer, forward_of_wholes, backward_of_wholes,
                        batching.wholes_of(tuple(args)), (*key, batching.size),
                    )
                )  # fmt: skip
        name = self._name
        part = trace.tape_part(training=True)
        token = _inside.set(_inside.get() | {self})
        try:
            with unwritten(trace):
                returned = forward(*args)
        finally:
            _inside.reset(token)
            trace.logged(TapePart.end, part)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(f"custom_vjp: forward of {name} must return (result, residuals)")

        def record(args: Any, result: Any, residuals: Any) -> Any:
            def pulled(dy: Any) -> Any:
                with running(trace):
                    return trace.hidden(backward(trace.shown(residuals), trace.shown(dy)))

            return _put_on_tape(name, pulled, args, result)

        captured = tree.map(lambda v: _captured_by(trace, v), returned)
        return trace.joined(key, record, (args, *captured), {})


def _batching_of(trace: Any) -> Any:
    """Return the batching of the ``vmap`` that runs, or None."""
    return trace.batching or (trace if trace.depth else None)


def with_adjoint(function: Callable[[Any], Any], adjoint: Callable[[Any], Any]) -> custom_vjp:
    """Return a linear function whose gradient ``adjoint`` computes."""
    result = custom_vjp(function)
    result.defvjp(lambda x: (function(x), None), lambda _, dy: (adjoint(dy),))
    return result


def _captured_by(trace: Any, value: Any) -> Any:
    return trace.capture(value) if nested_arguments.is_array(value) else value


def _put_on_tape(name: str, backward: Callable[..., Any], args: Any, result: Any) -> Any:
    """Put the rule of a function on the tape; return its result."""
    inputs = {str(i): t for i, t in enumerate(tree.leaves(args)) if isinstance(t, Tensor)}
    result = tree.map(_aliased, result)
    outputs = {str(i): t for i, t in enumerate(tree.leaves(result)) if isinstance(t, Tensor)}

    def rule(entry: Entry, grads: Grads) -> Grads:
        leaves, form = tree.flatten(result)
        output_grads = [
            separate(grads[str(i)]) if str(i) in grads else _zero_grad(t)
            for i, t in enumerate(leaves)
        ]
        return _checked_grads(name, args, backward(tree.unflatten(form, output_grads)))

    trace = next(iter(inputs.values())).trace
    trace.tape.append(Entry("custom_vjp", inputs, outputs, rule=rule, function=name))
    return result


def _aliased(x: Any) -> Any:
    return alias(x) if isinstance(x, Tensor) else x


def _zero_grad(x: Any) -> Any:
    return zeros_like(x) if isinstance(x, Tensor) and x.is_float else None


def _checked_grads(name: str, args: tuple[Any, ...], grads: Any) -> Grads:
    """Return the gradients of the arguments' leaves by number, checked."""
    if not isinstance(grads, (tuple, list)) or len(grads) != len(args):
        raise TypeError(
            f"custom_vjp: backward of {name} must return {len(args)} gradients, one for each "
            f"argument, got {grads!r}"
        )
    matched: Grads = {}
    number = 0
    for index, (arg, grad) in enumerate(zip(args, grads, strict=True)):
        leaves, form = tree.flatten(arg)
        parts = [None] * len(leaves)
        if grad is not None:
            parts, grad_form = tree.flatten(grad, is_leaf=lambda v: v is None)
            if len(parts) != len(leaves):
                raise TypeError(
                    f"custom_vjp: backward of {name} must return a gradient nested like argument "
                    f"{index}, {form}, got {grad_form}"
                )
        for leaf, part in zip(leaves, parts, strict=True):
            if isinstance(leaf, Tensor) and part is not None:
                matched[str(number)] = _checked_grad(name, index, leaf, part)
            number += 1
    return matched


def _checked_grad(name: str, index: int, leaf: Tensor, grad: Any) -> Tensor:
    tensor = grad if isinstance(grad, Tensor) else leaf.trace.capture(grad)
    if tensor.shape != leaf.shape:
        raise ValueError(
            f"custom_vjp: backward of {name} must return a gradient of shape {leaf.shape} for "
            f"argument {index}, got {tensor.shape}"
        )
    return leaf.trace.convert(tensor, leaf.dtype)


# --- ``checkpoint``: intermediate values of a function are recomputed for its gradient


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that keeps only its arguments and results for its gradient.

    Intermediate values are recomputed where the gradient needs them. That saves their memory and
    costs the time of another forward pass. Results are the same.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays. Captured arrays have gradients, too.

    Returns
    -------
    callable
        Outside of differentiated functions it behaves like ``function``.

    Notes
    -----
    Inside ``compile``, the second computation is not merged with the first one. ``dropout`` drops
    the same elements both times, and running statistics are updated once. A function that reads
    values (``if v > 0``, ``float(v)``) is not recomputed: it keeps its intermediate values.

    Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> block = sycl_dnn.checkpoint(lambda x: F.tanh(x) * x)  # tanh(x) is computed twice
    >>> sycl_dnn.grad(lambda x: block(x).sum())(F.zeros(2)).tolist()
    [0.0, 0.0]
    """

    @functools.wraps(function, updated=())
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        tensors = [t for t in tree.leaves((args, kwargs)) if isinstance(t, Tensor)]
        if not tensors or not tensors[0].trace.training:
            return function(*args, **kwargs)
        kept_args, kept = _kept(args), _kept(kwargs)
        return _recorded(tensors[0].trace, lambda: function(*kept_args, **kept), function)

    return checkpointed


def _kept(value: Any) -> Any:
    """Return arguments whose values later writes do not change, as they are now."""
    if hasattr(value, "whole"):  # of vmap
        return value.trace.wrapped(_kept(value.whole))
    if isinstance(value, Tensor):
        return value.trace.logged(separate, value)
    if value.__class__ in (list, tuple):
        return value.__class__(map(_kept, value))
    if value.__class__ is dict:
        return {name: _kept(content) for name, content in value.items()}
    return value


def _recorded(trace: Any, body: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """Record a function as one entry, whose gradient records it again."""
    batching = _batching_of(trace)
    if batching is not None:  # the same over wholes
        with batching.outside():
            wholes = _recorded(batching.outer, lambda: batching.over_wholes(body, ()), function)
        return batching.mapped(wholes)
    with unwritten(trace):
        part, n_before = trace.tape_part(training=True, is_apart=True), _n_evaluated(trace)
        try:
            result = body()
        finally:
            trace.logged(TapePart.end, part)
    name = getattr(function, "__name__", "checkpoint")
    if _n_evaluated(trace) != n_before:
        # Python code that reads values cannot be repeated, so this run keeps intermediate values.
        trace.logged(TapePart.rejoin, part)
        return result

    def record(part: TapePart, results: list[Tensor]) -> list[Tensor]:
        def again() -> list[Tensor]:
            with running(trace):  # so that arrays created inside are also recorded values
                results = trace.hidden(body())
            return [t for t in tree.leaves(results) if isinstance(t, Tensor)]

        return _checkpointed(name, again, part, results)

    results = [t for t in tree.leaves(result) if isinstance(t, Tensor)]
    fresh = iter(trace.joined("checkpoint", record, (part, results), {}))
    return tree.map(lambda t: next(fresh) if isinstance(t, Tensor) else t, result)


def _n_evaluated(trace: Any) -> int:
    """Return the number of values that a function has read; a traced one reads none."""
    return trace.n_evaluated if hasattr(trace, "evaluated") else 0


def _old_contents(trace: Any) -> set[Any]:
    """Return the storages of what steps have computed from arguments that are written to."""
    written = {storage for storage, _ in trace.written}
    readers = [s for s in trace.steps if any(t.storage in written for t in s.inputs.values())]
    return {t.storage for step in readers for t in step.outputs.values()}


def _checkpointed(
    name: str, body: Callable[[], Any], part: TapePart, results: list[Tensor]
) -> list[Tensor]:
    """Put the recomputation of a function on the tape; return its results."""
    region = policy.current().autocast
    inputs = {str(i): t for i, t in enumerate(leaves_of(part.entries, results))}
    aliases = {id(t): alias(t) for t in results}
    outputs = {str(i): aliases[id(t)] for i, t in enumerate(results)}

    def rule(entry: Entry, grads: Grads) -> Grads:
        # The trace is looked up: it holds its tape, and would hold itself.
        trace = next(iter(entry.outputs.values())).trace

        def again() -> Grads:
            known = {t.storage for t in inputs.values()}
            counts = len(trace.steps), len(trace.captured), len(trace.tape)
            with trace.repeating(part.seeds), policy.using(autocast=region):
                again = body()
            known |= {t.storage for s in trace.steps[counts[0] :] for t in s.outputs.values()}
            known |= {t.storage for *_, t in trace.captured[counts[1] :]}
            leaves = leaves_of(trace.tape[counts[2] :], again)
            lost = _old_contents(trace) - {t.storage for t in leaves}
            others = [t for t in leaves if t.storage not in known]
            others += [t for t in inputs.values() if t.storage in lost]
            if others:
                raise RuntimeError(
                    f"checkpoint: {name} reads an array of shape {others[0].shape} from outside "
                    "that was written to afterwards; pass it as an argument, or write to a copy"
                )
            return {str(i): t for i, t in enumerate(again)}

        return recomputed(trace, again, grads, inputs)

    part.trace.tape.append(Entry("checkpoint", inputs, outputs, rule=rule, function=name))
    return [aliases[id(t)] for t in results]
