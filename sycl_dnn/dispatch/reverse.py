# SPDX-License-Identifier: Apache-2.0
"""``vjp``: a function's value and the pullback of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.dispatch import allocation, arguments, cache, policy, structure
from sycl_dnn.dispatch.arguments import Collected
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.differentiated import Differentiated
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.record import NeedsAnotherDevice
from sycl_dnn.dispatch.signature import R
from sycl_dnn.dispatch.tensor import Tensor

if TYPE_CHECKING:
    from sycl_dnn.dispatch.elsewhere import PullbackElsewhere
    from sycl_dnn.dispatch.inner_reverse import InnerPullback

__all__ = ["Pullback", "vjp"]


class Pullback:
    """Maps the gradient of a function's result to the gradients of its arguments.

    It holds what the forward pass left for that; it may be called more than once.
    """

    def __init__(
        self, plan: Differentiated, queue: Any, stream: Any, kept: list[Any], found: Collected
    ):
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
        made = plan.reverse.leaves(registers, [])
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


def vjp(
    function: Callable[..., R], *args: Any, **kwargs: Any
) -> tuple[R, Pullback | PullbackElsewhere | InnerPullback]:
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

    Notes
    -----
    Inside a function that is compiled or planned, both passes become part of its program.
    """
    found = Collected()
    key = ["vjp", function, policy.current(), found.token(args)]
    for name, value in kwargs.items():
        key += [name, found.token(value)]
    if found.traced:
        from sycl_dnn.dispatch.inner_reverse import inner_vjp

        return inner_vjp(structure.trace_of(args), function, args, kwargs)
    queue = arguments.shared_queue(found.arrays, getattr(function, "__name__", "vjp"))
    place, stream = place_of(queue)
    if not arguments.is_describable(found.arrays):
        return _on_copies(function, args, kwargs)
    whole = (*key, place)
    plan = cache.get(whole)
    if plan is None:
        try:
            plan = cache.make(whole, lambda: Differentiated(place, _body(function), args, kwargs))
        except NeedsAnotherDevice as lack:
            from sycl_dnn.dispatch.elsewhere import vjp_on_cpu

            return vjp_on_cpu(vjp, function, lack, queue, args, kwargs)
    kind = allocation.coerced_kind(found.arrays)
    forward = plan.forward
    registers = forward.run(queue, stream, found.arrays, kind, None, found.frozen)
    leaves = forward.leaves(registers, found.objects)
    kept = [registers[r] for r in forward.kept]
    pullback = Pullback(plan, queue, stream, kept, found)
    return structure.build(plan.form, leaves), pullback


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is traced of one of our functions, and others as they are."""
    operation = getattr(function, "operation", None)
    return function if operation is None else operation.body


def _on_copies(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Run with dense copies of the arrays whose strides oneDNN cannot describe."""
    swap = arguments.describable
    swapped = [arguments.replaced(a, swap) for a in args]
    return vjp(function, *swapped, **{n: arguments.replaced(v, swap) for n, v in kwargs.items()})
