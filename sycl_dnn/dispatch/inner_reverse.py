# SPDX-License-Identifier: Apache-2.0
"""``vjp`` inside a function that is traced itself: both passes join that trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.call import nesting
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.differentiated import added, propagate, zeros_like
from sycl_dnn.dispatch.higher_order import alias
from sycl_dnn.dispatch.primitives import filled
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace


class InnerPullback:
    """Records the reverse pass of a traced function each time it is called."""

    def __init__(
        self, trace: Trace, first: int, leaves: list[Tensor], form: Any, inputs: Any, args: Any
    ) -> None:
        self._trace = trace
        self._tape = trace.tape[first:]
        self._leaves, self._form = leaves, form
        self._inputs, self._input_form = inputs, args

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument; as the pullback of ``vjp``.

        Parameters
        ----------
        dy : traced array or array
            Shape and dtype of the result, nested as it is; None stands for zeros.
        """
        nesting.trace_of((self._leaves, dy))  # raises if it has ended
        wanted = [t for t in self._inputs if t.is_float]
        found = propagate(self._trace, self._tape, self._seeds(dy), wanted)
        by_id = {id(t): self._laid(t, g) for t, g in zip(wanted, found, strict=True)}
        grads = [by_id.get(id(t)) for t in self._inputs]
        return tuple(self._input_form.build(grads))

    def _seeds(self, dy: Any) -> dict[int, Tensor]:
        seeds: dict[int, Tensor] = {}
        given = self._form.matched(dy, "dy")
        for leaf, value in zip(self._leaves, given, strict=True):
            if not leaf.is_float:
                continue
            seed = self._seed(value, leaf)
            if seed.shape != leaf.shape or seed.dtype != leaf.dtype:
                raise ValueError(
                    f"pullback: dy must have shape {leaf.shape} and dtype {leaf.dtype}, got "
                    f"{seed.shape} and {seed.dtype}"
                )
            old = seeds.get(id(leaf))
            seeds[id(leaf)] = seed if old is None else added(old, seed)
        return seeds

    def _seed(self, value: Any, leaf: Tensor) -> Tensor:
        if value is None:
            return self._trace.zeros(layout.row_major(leaf.shape, leaf.dtype), leaf.shape)
        if isinstance(value, (int, float)):
            if leaf.size != 1:
                raise ValueError(
                    f"pullback: dy must be an array of shape {leaf.shape}; a number does for "
                    "results of one element"
                )
            return filled(self._trace, value, leaf.shape, leaf.dtype)
        return value if isinstance(value, Tensor) else self._trace.capture(value)

    def _laid(self, tensor: Tensor, grad: Tensor | None) -> Tensor:
        """Return a gradient as its array lies, zeros where nothing came back."""
        if grad is None:
            return zeros_like(tensor)
        plain = self._trace.plain(tensor)
        wanted = layout.like(plain.desc, tensor.dtype)
        if grad.desc == wanted:
            return grad
        return self._trace.view(grad, self._trace.reorder(grad, wanted), lambda g: g)


def inner_vjp(
    trace: Trace,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: tuple[int, ...] | None = None,
    has_aux: bool = False,
) -> tuple[Any, InnerPullback]:
    """Return ``function(*args, **kwargs)`` over tensors, and its pullback.

    Gradients are those of the arguments that ``wrt`` names; with ``has_aux`` the function returns
    a pair of which only the first has gradients.

    Raises
    ------
    TypeError
        The trace lowers dtypes, which gradients do not follow.
    """
    if trace.is_lowered:
        raise TypeError("vjp: a function compiled with a dtype of its own has no gradients inside")
    own = tree.map(lambda a: _aliased(trace, a), tuple(args))
    first, known = len(trace.tape), trace.training
    trace.training = True
    try:
        result = function(*own, **kwargs)
    finally:
        trace.training = known
    name = getattr(function, "__name__", "vjp")
    seeded = nesting.primary_of(result, name) if has_aux else result
    leaves, form = nesting.result_of(seeded, name, trace.capture)
    inputs, input_form = nesting.arguments_of(list(own) if wrt is None else [own[i] for i in wrt])
    return result, InnerPullback(trace, first, leaves, form, inputs, input_form)


def _aliased(trace: Trace, value: Any) -> Any:
    """Return arguments with tensors of their own: each is to have a gradient of its own."""
    if hasattr(value, "get_array") and not isinstance(value, Tensor):
        value = trace.capture(value)
    if not isinstance(value, Tensor):
        return value
    # An outer reverse pass comes by the tensor that was given.
    return trace.view(value, alias(value), lambda grad: grad)
