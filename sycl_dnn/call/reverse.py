# SPDX-License-Identifier: Apache-2.0
"""``vjp``, ``grad``, ``value_and_grad``: a function's value and its gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dpnp

from sycl_dnn import tree
from sycl_dnn.call import arguments as subjects
from sycl_dnn.call import cache
from sycl_dnn.call.arguments import Collected, UserCall
from sycl_dnn.call.both_passes import Differentiated
from sycl_dnn.call.cache import misses_of, specialised
from sycl_dnn.call.captures import Captures, Check
from sycl_dnn.call.capturing import CapturingTrace, Tail, numbered, watched
from sycl_dnn.call.operation import R
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn import dtypes as arguments
from sycl_dnn.program.place import Place, place_of
from sycl_dnn.trace import allocation, nested_arguments, policy, profile_notes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.steps import NeedsAnotherDevice
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.call.both_passes import InnerPullback
    from sycl_dnn.call.cpu_fallback import PullbackElsewhere


_CARRIED = arguments.CARRIED


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
            raise subjects.ExecutionPlacementError(
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
        from sycl_dnn.trace.functions import asarray

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
        raise subjects.named(error, name, function, args, kwargs) from None
    if call.traced:
        from sycl_dnn.call.both_passes import inner_vjp

        return inner_vjp(
            nested_arguments.trace_of((args, kwargs)), function, args, kwargs, wrt, has_aux
        )
    label = subjects.name_of(function, name)
    queue = subjects.shared_queue(call.arrays, label)
    place, stream = place_of(queue)
    if not subjects.is_describable(call.arrays):
        swapped, named = subjects.all_describable(args, kwargs)
        return differentiated(name, function, swapped, named, wrt, has_aux)
    whole = (*key, place)
    found = cache.find(whole, function, call)
    if found is None:
        try:
            plan, held = _planned(whole, function, call, place, args, kwargs, wrt, has_aux)
        except NeedsAnotherDevice as lack:
            from sycl_dnn.call.cpu_fallback import vjp_on_cpu

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
            subjects.name_of(function), subjects.tokens_by_name(function, args, kwargs)
        )

    def build(static: frozenset[int]) -> Any:
        return _traced(function, call, place, args, kwargs, wrt, has_aux, static)

    static, (plan, check, held) = specialised(
        key[1],
        call.numbers,
        lambda s: profile_notes.trace(subjects.name_of(function), lambda: build(s)),
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
    swapped, named = subjects.traced(trace, args, kwargs)
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


# --- ``grad`` and ``value_and_grad``: gradients of functions with a scalar result


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a value and its gradient.

    Parameters
    ----------
    function : callable
        Returns an array of one element; traced as by ``vjp``.
    argnums : int or sequence of int
        Positional arguments that gradients are wanted for: arrays, or trees of arrays.
    has_aux : bool
        Whether the function returns a pair: the value, and something else that is handed on.

    Returns
    -------
    callable
        Takes what ``function`` does, and returns ``(value, gradient)``, or
        ``((value, aux), gradient)``. The gradient is nested as the argument is; for a sequence of
        ``argnums`` it is a tuple of such.

    Raises
    ------
    TypeError
        At a call: an argument to differentiate is no array of floating-point numbers; the error
        names function, argument and path.
    ValueError
        At a call: there is no such argument; the value has more than one element.
    """
    return _transformed("value_and_grad", function, argnums, has_aux)


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a gradient; parameters and errors as ``value_and_grad``.

    With ``has_aux`` it returns ``(gradient, aux)``.
    """
    both = _transformed("grad", function, argnums, has_aux)

    @functools.wraps(both)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _transformed(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name}: function must be callable, got {type(function).__name__}")
    is_single = isinstance(argnums, int)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not numbers or not all(isinstance(n, int) for n in numbers):
        raise TypeError(f"{name}: argnums must be an int or a sequence of them, got {argnums!r}")

    @functools.wraps(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        wrt = _positions(name, numbers, len(args))
        for number in wrt:
            _check_argument(name, function, number, args[number])
        result, pullback = differentiated(name, function, args, kwargs, wrt, has_aux)
        _check_value(name, result, has_aux)
        gradients = pullback()
        return result, gradients[0] if is_single else gradients

    # The wrapped signature has a docstring of its own; operations must not be taken for this.
    transformed.__dict__.pop("operation", None)
    return transformed


def _positions(name: str, numbers: tuple[int, ...], n_args: int) -> tuple[int, ...]:
    for number in numbers:
        if not -n_args <= number < n_args:
            raise ValueError(
                f"{name}: argnums must name positional arguments of the call, which has {n_args}, "
                f"got {number}"
            )
    return tuple(number % n_args for number in numbers)


def _check_argument(name: str, function: Callable[..., Any], number: int, value: Any) -> None:
    for path, leaf in tree.paths(value):
        is_array = nested_arguments.is_array(leaf) or isinstance(leaf, Tensor)
        if is_array and dtypes.is_float(str(leaf.dtype)):
            continue
        got = str(leaf.dtype) if is_array else type(leaf).__name__
        raise TypeError(
            f"{name}: {_parameter(function, number)}{path} must be an array of floating-point "
            f"numbers, got {got}"
        )


def _parameter(function: Callable[..., Any], number: int) -> str:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"argument {number}"
    if number >= len(parameters) or parameters[number].kind is inspect.Parameter.VAR_POSITIONAL:
        return f"argument {number}"
    return parameters[number].name


def _check_value(name: str, result: Any, has_aux: bool) -> None:
    value = result[0] if has_aux else result
    if not (nested_arguments.is_array(value) or isinstance(value, Tensor)):
        raise TypeError(
            f"{name}: the function must return an array of one element, got {type(value).__name__}"
        )
    n = 1
    for size in value.shape:
        n *= size
    if n != 1:
        raise ValueError(
            f"{name}: the function must return an array of one element, got shape {value.shape}"
        )
    if not dtypes.is_float(str(value.dtype)):
        raise TypeError(
            f"{name}: the function must return a floating-point number, got {value.dtype}"
        )
