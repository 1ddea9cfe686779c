# SPDX-License-Identifier: Apache-2.0
"""``vjp``: a function's value and the pullback of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import dpnp

from sycl_dnn.call import nesting, subjects
from sycl_dnn.call.captures import Captures, Check
from sycl_dnn.call.capturing import CapturingTrace, Tail, numbered, watched
from sycl_dnn.call.variants import misses_of, specialised
from sycl_dnn.dispatch import allocation, arguments, cache, noted, policy
from sycl_dnn.dispatch.arguments import Collected, UserCall
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.differentiated import Differentiated
from sycl_dnn.dispatch.places import Place, place_of
from sycl_dnn.dispatch.record import NeedsAnotherDevice
from sycl_dnn.dispatch.signature import R
from sycl_dnn.dispatch.tensor import Tensor

if TYPE_CHECKING:
    from sycl_dnn.dispatch.elsewhere import PullbackElsewhere
    from sycl_dnn.dispatch.inner_reverse import InnerPullback

__all__ = ["Pullback", "vjp"]

_CARRIED = arguments.dtypes.CARRIED


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

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument.

        Parameters
        ----------
        dy : dpnp.ndarray or Array, or number
            Shape and dtype of the result. For a function that returns several arrays, the same
            structure; None stands for zeros. Results of one element take a number, 1 if nothing
            is given.

        Returns
        -------
        tuple
            By positional argument: an array of its shape, dtype and order of axes, a tree for a
            tree of arrays; None for what has no gradient (integers, parameters).
        """
        plan = self._plan
        seeds = [self._seed(d, t) for d, t in zip(self._leaves(dy), plan.seed_tensors, strict=True)]
        kind = allocation.coerced_kind(self._given)
        registers = plan.reverse.run(
            self._queue, self._stream, [*seeds, *self._kept], kind, None, self._frozen
        )
        made = plan.reverse.leaves(registers, [])
        leaves = [None if n is None else made[n] for n in plan.gradient_of]
        return tuple(plan.input_form.build(leaves))

    def _leaves(self, dy: Any) -> list[Any]:
        form = self._plan.seed_form
        if form.is_single:
            return [dy]
        flat = form.matched(dy, "dy")
        return [flat[i] for i in self._plan.seeded]

    def _seed(self, dy: Any, tensor: Tensor) -> Any:
        """Return the usm_ndarray of a gradient in the layout of the result that it belongs to."""
        if dy is None:
            dtype = allocation.blank_of(tensor).dtype
            dy = dpnp.zeros(tensor.shape, dtype=dtype, sycl_queue=self._queue)
            dy = Array(dy, tensor.dtype) if tensor.dtype in _CARRIED else dy
        if isinstance(dy, (int, float)):
            return self._number(dy, tensor)
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

    def _number(self, value: float, tensor: Tensor) -> Any:
        if tensor.size != 1:
            raise ValueError(
                f"pullback: dy must be an array of shape {tensor.shape}; a number does for results "
                "of one element"
            )
        blank = allocation.blank_of(tensor)
        if tensor.dtype not in _CARRIED:
            number = allocation.scalar(value, blank.dtype, self._queue)
            return allocation.reshaped(number, tensor.shape)
        from sycl_dnn.functional.convert import asarray

        made = asarray([value], dtype=tensor.dtype, sycl_queue=self._queue)
        return allocation.reshaped(made.get_array(), tensor.shape)


class Differential(NamedTuple):
    """The plan of a function and its reverse pass, and what a call adds to its arguments."""

    both: Differentiated
    tail: Tail


def vjp(
    function: Callable[..., R], *args: Any, **kwargs: Any
) -> tuple[R, Pullback | PullbackElsewhere | InnerPullback]:
    """Return ``function(*args, **kwargs)`` and the pullback of its gradient.

    Parameters
    ----------
    function : callable
        One of ``sycl_dnn.functional``, or a function of yours that calls those. It is traced: its
        Python code runs over values that have shape and dtype, but no data. It runs again for
        other shapes and parameters, and whenever something that it reads from outside (variables,
        attributes, functions) has changed. Arrays that it holds are read at each call.
    *args
        Trees of arrays, and parameters. Floats are values of the call: another one costs no trace
        unless the function asks for it.
    **kwargs
        Parameters; arrays among them are constants to the gradient.

    Returns
    -------
    y, pullback
        ``pullback(dy)`` returns one gradient for each positional argument, nested as that is.

    Raises
    ------
    NotImplementedError
        An operation on the way has no gradient.

    Notes
    -----
    Inside a function that is compiled or planned, both passes become part of its program.
    """
    return differentiated("vjp", function, args, kwargs)


def differentiated(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: tuple[int, ...] | None = None,
    has_aux: bool = False,
) -> tuple[Any, Any]:
    """Return value and pullback, as ``vjp``; parameters as those of ``Differentiated``.

    The pullback's tuple has the gradients of the arguments that ``wrt`` names.
    """
    call = UserCall() if subjects.operation_of(function) is None else PlainCall()
    subject = subjects.key_of(function)
    try:
        tokens = [call.token(v) for v in args]
        key = ["vjp", subject, policy.current(), wrt, has_aux, *tokens]
        for parameter, value in kwargs.items():
            key += [parameter, call.token(value)]
    except TypeError as error:
        raise arguments.named(error, name, function, args, kwargs) from None
    if call.traced:
        from sycl_dnn.dispatch.inner_reverse import inner_vjp

        return inner_vjp(nesting.trace_of((args, kwargs)), function, args, kwargs, wrt, has_aux)
    label = subjects.name_of(function, name)
    queue = arguments.shared_queue(call.arrays, label)
    place, stream = place_of(queue)
    if not arguments.is_describable(call.arrays):
        swapped, named = arguments.all_describable(args, kwargs)
        return differentiated(name, function, swapped, named, wrt, has_aux)
    whole = (*key, place)
    found = cache.find(whole, function, call)
    if found is None:
        try:
            plan, held = _planned(whole, function, call, place, args, kwargs, wrt, has_aux)
        except NeedsAnotherDevice as lack:
            from sycl_dnn.dispatch.elsewhere import vjp_on_cpu

            def again(function: Any, *args: Any, **kwargs: Any) -> Any:
                return differentiated(name, function, args, kwargs, wrt, has_aux)

            return vjp_on_cpu(again, function, lack, queue, args, kwargs)
    else:
        plan, held = found
    return _run(plan, held, label, call, queue, stream)


class PlainCall(Collected):
    """What is found in the arguments of one of our functions, which holds nothing."""

    __slots__ = ()
    numbers: tuple[float, ...] = ()
    others: tuple[Any, ...] = ()


def _run(plan: Differential, held: Any, label: str, call: Any, queue: Any, stream: Any) -> Any:
    both = plan.both
    given = plan.tail.complete(label, call, held, queue)
    kind = allocation.coerced_kind(call.arrays)
    forward = both.forward
    registers = forward.run(queue, stream, given, kind, None, call.frozen)
    leaves = forward.leaves(registers, call.objects)
    kept = [registers[r] for r in forward.kept]
    return both.form.build(leaves), Pullback(both, queue, stream, kept, call)


def _planned(
    key: Any,
    function: Any,
    call: Any,
    place: Place,
    args: Any,
    kwargs: Any,
    wrt: Any,
    has_aux: bool,
) -> tuple[Differential, tuple[Any, ...]]:
    """Trace a function; keep the plan if guards can tell when it holds."""
    known = cache.peek(key)
    if isinstance(call, UserCall):
        misses_of(key[1]).note(
            subjects.name_of(function), arguments.tokens_by_name(function, args, kwargs)
        )

    def build(static: frozenset[int]) -> Any:
        return _traced(function, call, place, args, kwargs, wrt, has_aux, static)

    static, (plan, check, held) = specialised(
        key[1],
        call.numbers,
        lambda s: noted.trace(subjects.name_of(function), lambda: build(s)),
        frozenset() if known is None else known.static,
    )
    cache.keep(key, static, call.numbers, check, plan)
    return plan, held


def _traced(
    function: Any,
    call: Any,
    place: Place,
    args: Any,
    kwargs: Any,
    wrt: Any,
    has_aux: bool,
    static: frozenset[int],
) -> tuple[Differential, Check | None, tuple[Any, ...]]:
    """Return a plan, its guard (None: it holds for this call alone) and the arrays held now."""
    is_user = isinstance(call, UserCall)
    captures = Captures(function, call.others) if is_user else None
    trace = CapturingTrace(place.engine, captures.arrays if captures else (), training=True)
    swapped, named = arguments.traced(trace, args, kwargs)
    n_given = len(trace.arguments)
    if call.numbers:
        swapped, values = numbered(trace, [swapped, list(named.values())], static)
        named = dict(zip(named, values, strict=True))
    if captures is None:
        both = Differentiated(trace, subjects.body_of(function), swapped, named, wrt, has_aux)
        return Differential(both, Tail({}, 0, 0)), _always, ()
    with watched(captures) as watch:
        both = Differentiated(trace, function, swapped, named, wrt, has_aux)
    plan = Differential(both, Tail(trace.tail, n_given, both.n_given))
    held = tuple(captures.arrays[n] for n in plan.tail.used)
    trace.let_go()
    if captures.varying or watch.saw_values or trace.holds_others:
        return plan, None, held
    check = captures.check(plan.tail.used)
    # A function that changes what it reads is traced anew each time.
    return plan, None if check(function, call.others) is None else check, held


def _always(function: Any, others: Any) -> tuple[Any, ...]:
    return ()
