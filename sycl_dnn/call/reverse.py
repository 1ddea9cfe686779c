# SPDX-License-Identifier: Apache-2.0
"""``vjp``, ``grad``, ``value_and_grad``: a function's value and its gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import tree
from sycl_dnn.call import arguments as subjects
from sycl_dnn.call import cache
from sycl_dnn.call.arguments import Collected, UserCall
from sycl_dnn.call.both_passes import Differentiated, inner_vjp
from sycl_dnn.call.cache import Found, misses_of, specialised
from sycl_dnn.call.captures import Captures, Check, nothing_held
from sycl_dnn.call.capturing import CapturingTrace, Tail, numbered, watched
from sycl_dnn.call.debugging import looked_at
from sycl_dnn.call.operation import R
from sycl_dnn.call.placed_call import PlacedCall
from sycl_dnn.call.pullback import Differential, Pullback
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.place import Place
from sycl_dnn.trace import nested_arguments, policy, profile_notes
from sycl_dnn.trace.steps import NeedsAnotherDevice
from sycl_dnn.trace.values import MixedTraces, Tensor

if TYPE_CHECKING:
    from sycl_dnn.call.both_passes import InnerPullback
    from sycl_dnn.call.cpu_fallback import CpuPullback


def vjp(
    function: Callable[..., R], *args: Any, **kwargs: Any
) -> tuple[R, Pullback | CpuPullback | InnerPullback]:
    """Return ``function(*args, **kwargs)`` and the pullback of its gradient.

    Parameters
    ----------
    function : callable
        One of ``sycl_dnn.functional``, or your function that calls those. It is traced: its
        Python code runs over values that have shape and dtype, but no data. It runs again for
        other shapes and parameters, and whenever something that it reads from outside (variables,
        attributes, functions) has changed. Captured arrays are read at each call.
    *args
        Trees of arrays, and parameters. Floats are values of the call: another one costs no trace
        unless the function needs the value.
    **kwargs
        Parameters; arrays among them are constants to the gradient.

    Returns
    -------
    y, pullback
        ``pullback(dy)`` returns one gradient for each positional argument, nested as that is.

    Raises
    ------
    NotImplementedError
        An operation inside has no gradient.

    Notes
    -----
    Inside a function that is compiled or planned, both passes become part of its program.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> y, pullback = sycl_dnn.vjp(lambda x: x * x, F.ones(2))
    >>> (dx,) = pullback(F.ones(2))
    >>> y.tolist(), dx.tolist()
    ([1.0, 1.0], [2.0, 2.0])
    """
    made = _repeat(function, _SUBJECT, args, kwargs, None)
    if made is NotImplemented:
        return _differentiated("vjp", function, args, kwargs, None, False)
    return made


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
    made = _repeat(function, ("vjp", *policy.SOURCES, wrt, has_aux), args, kwargs, None)
    if made is NotImplemented:
        return _differentiated(name, function, args, kwargs, wrt, has_aux)
    return made


_repeat = cache.plans.calls.call
_SUBJECT = ("vjp", *policy.SOURCES, None, False)


def _differentiated(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: tuple[int, ...] | None,
    has_aux: bool,
) -> tuple[Any, Any]:
    if policy.current().debug_nans:
        return _looked_at(name, function, args, kwargs, wrt, has_aux)
    call = UserCall() if subjects.operation_of(function) is None else Collected()
    try:
        key = ["vjp", subjects.key_of(function), policy.current(), wrt, has_aux]
        key += [call.token(v) for v in args]
        for parameter, value in kwargs.items():
            key += [parameter, call.token(value)]
    except TypeError as error:
        raise subjects.named(error, name, function, args, kwargs) from None
    if call.traced:
        return inner_vjp(
            nested_arguments.trace_of((args, kwargs)), function, args, kwargs, wrt, has_aux
        )
    try:
        placed = PlacedCall(subjects.name_of(function, name), call)
    except ExecutionPlacementError as error:
        known = subjects.name_of(function, name)
        raise subjects.named_placement(error, known, function, args, kwargs) from None
    whole = (*key, *placed.facts)
    found = cache.plans.find(whole, function, call)
    if found is None:
        try:
            found = _planned(whole, function, call, placed.place, args, kwargs, wrt, has_aux)
        except NeedsAnotherDevice as lack:
            from sycl_dnn.call.cpu_fallback import vjp_on_cpu

            def again(function: Any, *args: Any, **kwargs: Any) -> Any:
                return differentiated(name, function, args, kwargs, wrt, has_aux)

            return vjp_on_cpu(again, function, lack, placed.queue, args, kwargs)
        except MixedTraces as mixed:  # the function captures a value of the enclosing trace
            return inner_vjp(mixed.traces[0], function, args, kwargs, wrt, has_aux)
    result = placed.run(*found)
    subject = ("vjp", *policy.SOURCES, wrt, has_aux)
    placed.remember(cache.plans, function, subject, args, kwargs, whole, found.plan)
    return result


def _looked_at(name: str, function: Callable[..., Any], args: Any, kwargs: Any, *more: Any) -> Any:
    """Return value and pullback that are checked for NaN, see ``debug_nans``."""
    label = subjects.name_of(function, name)
    y, pullback = looked_at(
        label,
        lambda: differentiated(name, function, args, kwargs, *more),
        (args, kwargs),
        lambda: function(*args, **kwargs),
        lambda result: result[0],
    )

    def searched(dy: Any = 1.0) -> Any:
        given = (args, kwargs, dy)
        return looked_at(f"pullback of {label}", lambda: pullback(dy), given)

    return y, searched


def _planned(
    key: Any,
    function: Any,
    call: Any,
    place: Place,
    args: Any,
    kwargs: Any,
    wrt: Any,
    has_aux: bool,
) -> Found:
    """Trace a function; keep the plan if guards can check whether it is valid."""
    if isinstance(call, UserCall):
        misses_of(key[1]).note(
            subjects.name_of(function), subjects.tokens_by_name(function, args, kwargs)
        )

    def build(static: frozenset[int]) -> Any:
        return _traced(function, call, place, args, kwargs, wrt, has_aux, static)

    static, (plan, held) = specialised(
        key[1],
        call.numbers,
        lambda s: profile_notes.trace(subjects.name_of(function), lambda: build(s)),
        cache.plans.static_of(key),
    )
    cache.plans.keep(key, static, call.numbers, plan.check, plan)
    return Found(plan, held)


def _traced(
    function: Any,
    call: Any,
    place: Place,
    args: Any,
    kwargs: Any,
    wrt: Any,
    has_aux: bool,
    static: frozenset[int],
) -> Found:
    """Return a plan, whose guard is None if it holds for this call alone, and the arrays held."""
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
        return Found(Differential(both, Tail({}, 0, 0), nothing_held), ())
    with watched(captures) as watch:
        try:
            both = Differentiated(trace, function, swapped, named, wrt, has_aux)
        except MixedTraces as mixed:
            raise mixed.without(trace) from None
    tail = Tail(trace.tail, n_given, both.n_given)
    held = tuple(captures.arrays[n] for n in tail.used)
    trace.let_go()
    check: Check | None = None
    if not (captures.varying or watch.saw_values or trace.holds_others):
        check = captures.check(tail.used)
        # A function that changes what it reads is traced again each time.
        check = None if check(function, call.others) is None else check
    return Found(Differential(both, tail, check), held)


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
        Positional arguments to differentiate: arrays, or trees of arrays.
    has_aux : bool
        Whether the function returns a pair: the value, and something else, returned unchanged.

    Returns
    -------
    callable
        Accepts what ``function`` does, and returns ``(value, gradient)``, or
        ``((value, aux), gradient)``. The gradient is nested as the argument is; for a sequence of
        ``argnums`` it is a tuple of them.

    Raises
    ------
    TypeError
        At a call: an argument to differentiate is not an array of floating-point numbers; the error
        names function, argument and path.
    ValueError
        At a call: the argument does not exist; the value has more than one element.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> value, dw = sycl_dnn.value_and_grad(lambda w: (w * w).sum())(F.ones(3))
    >>> float(value), dw.tolist()
    (3.0, [2.0, 2.0, 2.0])
    """
    return _transformed("value_and_grad", function, argnums, has_aux)


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes a gradient; parameters and errors as ``value_and_grad``.

    With ``has_aux`` it returns ``(gradient, aux)``.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> sycl_dnn.grad(lambda w: (w * w).sum())(F.ones(3)).tolist()
    [2.0, 2.0, 2.0]
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
        made = _repeat(function, ("vjp", *policy.SOURCES, wrt, has_aux), args, kwargs, None)
        if made is NotImplemented:
            for number in wrt:
                _check_argument(name, function, number, args[number])
            made = _differentiated(name, function, args, kwargs, wrt, has_aux)
        result, pullback = made
        _check_value(name, result, has_aux)
        gradients = pullback()
        return result, gradients[0] if is_single else gradients

    # The wrapped signature has its own docstring, which operations must not inherit.
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
    fixed = tree.constants(tree.flatten(value)[1])
    for (path, leaf), is_constant in zip(tree.paths(value), fixed, strict=True):
        if is_constant:
            continue
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
