# SPDX-License-Identifier: Apache-2.0
"""``vjp``, ``grad``, ``value_and_grad``: a function's value and its gradient."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import tree
from sycl_dnn.call import argument_writes, cache
from sycl_dnn.call import arguments as subjects
from sycl_dnn.call.arguments import Collected, UserCall
from sycl_dnn.call.attribute_changes import Changes, watch
from sycl_dnn.call.both_passes import Differentiated, inner_vjp
from sycl_dnn.call.cache import misses_of, specialised
from sycl_dnn.call.call_paths import Point
from sycl_dnn.call.capturing import numbered
from sycl_dnn.call.code_facts import is_library
from sycl_dnn.call.debugging import checked_for_nans
from sycl_dnn.call.operation import F, R, UserFunction
from sycl_dnn.call.paused_collection import paused_collection
from sycl_dnn.call.placed_call import PlacedCall
from sycl_dnn.call.pullback import Differential, Pullback
from sycl_dnn.call.recorded_calls import Recording
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments, policy, profile_notes
from sycl_dnn.trace.module_arrays import depths, in_manner, without_methods
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import NeedsAnotherDevice
from sycl_dnn.trace.trace_state import running
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
        One of ``sycl_dnn.functional``, or your function that calls those. Its Python code runs on
        each call, over values that have shape and dtype; what it calls is compiled into a program
        once. Where the code needs a value (``if v > 0``, ``float(v)``, ``v.asnumpy()``), the steps
        before it are computed. Arrays that it captures are constant to the gradient.
    *args
        Trees of arrays, and parameters. A different float makes no new program unless the function
        needs its value. Neither does a captured float in arithmetic with arrays, once it has
        varied. Any other change of a captured number does.
    **kwargs
        Parameters; arrays among them are constant to the gradient.

    Returns
    -------
    y, pullback
        ``pullback(dy)`` returns one gradient for each positional argument, nested like it.

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
    return differentiated("vjp", function, args, kwargs)


class Request(NamedTuple):
    """A request for a gradient: the arguments of ``differentiated``."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    wrt: tuple[int, ...] | None
    has_aux: bool
    check: Callable[[], None]

    @property
    def shown_name(self) -> str:
        """The name for errors and profiles."""
        return subjects.name_of(self.function, self.name)


def differentiated(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wrt: tuple[int, ...] | None = None,
    has_aux: bool = False,
    check: Callable[[], None] = lambda: None,
) -> tuple[Any, Any]:
    """Return value and pullback, as ``vjp``; parameters as those of ``Differentiated``.

    The pullback's tuple has the gradients of the arguments that ``wrt`` names. ``check`` raises for
    arguments that have none; it is called for new kinds of arguments.
    """
    args = without_methods(args)
    request = Request(name, function, args, kwargs, wrt, has_aux, check)
    operation = subjects.operation_of(function)
    if operation is not None:
        subject = ("vjp", operation, *policy.SOURCES, wrt, has_aux)
        outcome = _repeat(subject, args, kwargs, None)
        if outcome is not NotImplemented:
            return (in_manner(outcome[0]), outcome[1]) if depths else outcome
    run = _checked_for_nans if policy.current().debug_nans else _differentiated
    result, pullback = run(request)
    return in_manner(result) if depths else result, pullback


_repeat = cache.plans.calls.call


def _differentiated(request: Request) -> tuple[Any, Any]:
    name, function, args, kwargs, wrt, has_aux, check = request
    call = UserCall() if subjects.operation_of(function) is None else Collected()
    try:
        key = ["vjp", subjects.key_of(function), policy.current(), wrt, has_aux]
        key += [call.token(v) for v in args]
        for parameter, value in kwargs.items():
            key += [parameter, call.token(value)]
    except TypeError as error:
        check()
        raise subjects.named(error, name, function, args, kwargs) from None
    if call.traced:
        check()
        trace = nested_arguments.trace_of((args, kwargs))
        return inner_vjp(trace, function, args, kwargs, wrt, has_aux)
    try:
        placed = PlacedCall(request.shown_name, call)
    except ExecutionPlacementError as error:
        shown_name = request.shown_name
        raise subjects.named_placement(error, shown_name, function, args, kwargs) from None
    full_key = (*key, *placed.facts)
    try:
        run = _run_user_function if isinstance(call, UserCall) else _run_operation
        return run(request, placed, full_key)
    except NeedsAnotherDevice as cause:
        from sycl_dnn.call.cpu_fallback import vjp_on_cpu

        def again(function: Any, *args: Any, **kwargs: Any) -> Any:
            return differentiated(name, function, args, kwargs, wrt, has_aux)

        operation = subjects.operation_of(function) or UserFunction(function)
        return vjp_on_cpu(again, function, operation, cause, placed.queue, args, kwargs)
    except MixedTraces as mixed:  # the function captures a value of the enclosing trace
        return inner_vjp(mixed.traces[0], function, args, kwargs, wrt, has_aux)


def _checked_for_nans(request: Request) -> Any:
    """Return value and pullback that are checked for NaN, see ``debug_nans``."""
    args, kwargs = request.args, request.kwargs
    y, pullback = checked_for_nans(
        request.shown_name,
        lambda: differentiated(*request),
        (args, kwargs),
        lambda: request.function(*args, **kwargs),
        lambda result: result[0],
    )

    def searched(dy: Any = 1.0) -> Any:
        inputs = (args, kwargs, dy)
        return checked_for_nans(f"pullback of {request.shown_name}", lambda: pullback(dy), inputs)

    return y, searched


def _run_operation(request: Request, placed: PlacedCall, key: Any) -> Any:
    """Run a function of the layer; return its result and its pullback."""
    _, function, args, kwargs, wrt, has_aux, check = request
    plan = cache.plans.get(key)
    if plan is None:
        check()

        def build() -> Differential:
            trace = Trace(placed.place.engine, training=True)
            traced_args, traced_kwargs = subjects.traced(trace, args, kwargs)
            body = subjects.body_of(function)
            with running(trace):
                result = body(*traced_args, **traced_kwargs)
            name = request.shown_name
            both = Differentiated(trace, name, result, traced_args, wrt, has_aux)
            return Differential(both, False)

        plan = cache.plans.make(key, build)
    result = placed.run(plan)
    subject = ("vjp", subjects.operation_of(function), *policy.SOURCES, wrt, has_aux)
    placed.remember(cache.plans, subject, args, kwargs, key, plan)
    return result


def _run_user_function(request: Request, placed: PlacedCall, key: Any) -> Any:
    """Run a user's function and the plan of its recording; return its result and its pullback."""
    call, paths = placed.call, cache.plans.paths(key)
    if not paths.is_checked:
        request.check()
        paths.is_checked = True

    numbers: Any = call.numbers
    n_numbers = len(numbers)

    def build(static: frozenset[int]) -> Any:
        del numbers[n_numbers:]  # floats of the function's own that vary are added
        return _record_user_function(request, placed, key, static, paths.start(static, numbers))

    _, (plan, held, is_cached, changes) = specialised(key[1], call.numbers, build, paths.static)
    return changes.done(_run_plan(placed, key, plan, held, is_cached))


def _run_plan(
    placed: PlacedCall, key: Any, plan: Differential, held: Sequence[Any], is_cached: bool
) -> Any:
    """Run the plan of a user's function."""
    if plan.call_plan is not None:
        given = tuple(plan.given(placed, held))
        result = _repeat(plan.subject, given, {}, None)
        if result is not NotImplemented:
            return result
    if is_cached:
        cache.plans.use(key)
    result = placed.run(plan, held)
    if plan.call_plan is not None:
        arrays = list(plan.arrays(placed, held))
        placed.remember(cache.plans, plan.subject, given, {}, key, plan, arrays)
    return result


def _record_user_function(
    request: Request, placed: PlacedCall, key: Any, static: frozenset[int], start: Point
) -> tuple[Differential, Sequence[Any], bool, Changes]:
    """Run a user's function; return its plan, captures, whether it was cached, changes."""
    recording = Recording(start, placed)
    try:
        traced_args, values = recording.arguments_of(request.args, request.kwargs, request.wrt)
        if placed.call.numbers:
            traced_args, values = numbered(recording, [traced_args, values], static)
        traced_kwargs = dict(zip(request.kwargs, values, strict=True))
        watch(recording, [*request.args, *request.kwargs.values()], [*traced_args, *values])
        with running(recording):
            result = recording.returned(request.function(*traced_args, **traced_kwargs))
            argument_writes.write_back(recording)
        changes = Changes(recording, request.has_aux)
        if changes:
            request, result = request._replace(has_aux=True), changes.joined(result)
        plan = recording.plan(result)
        is_cached = plan is not None
        if plan is None:
            if not is_library(getattr(request.function, "__module__", None)):
                tokens = subjects.tokens_by_name(request.function, request.args, request.kwargs)
                misses_of(key[1]).note(subjects.name_of(request.function), tokens)
            plan = profile_notes.trace(
                subjects.name_of(request.function),
                lambda: _traced(request, recording, traced_args, result),
            )
            recording.keep(plan)
            cache.plans.missed(key)
        return plan, plan.held(recording.held), is_cached, changes
    except MixedTraces as mixed:
        raise mixed.without(recording) from None
    finally:
        recording.end()


def _traced(request: Request, recording: Recording, args: Any, result: Any) -> Differential:
    """Return the plan of a recorded function and its reverse pass."""
    trace = recording.trace
    recording.has_returned = True
    args, result = (recording.hidden(v) for v in (args, result))
    name = subjects.name_of(request.function, "vjp")
    with paused_collection():
        both = Differentiated(trace, name, result, args, request.wrt, request.has_aux)
        return Differential(both, True)


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
        Whether the function returns a pair: the value, and other data to return unchanged.

    Returns
    -------
    callable
        Accepts what ``function`` does, and returns ``(value, gradient)``, or
        ``((value, aux), gradient)``. The gradient is nested like the argument; for a sequence of
        ``argnums`` it is a tuple.

    Raises
    ------
    TypeError
        On a call: an argument to differentiate is not a floating-point array; the error names
        function, argument and path.
    ValueError
        On a call: the argument does not exist, or the value has more than one element.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> value, dw = sycl_dnn.value_and_grad(lambda w: (w * w).sum())(F.ones(3))
    >>> float(value), dw.tolist()
    (3.0, [2.0, 2.0, 2.0])
    """
    return value_and_gradient_of("value_and_grad", function, argnums, has_aux)


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
    return gradient_of("grad", function, argnums, has_aux)


def gradient_of(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    """Return the result of ``grad``; ``name`` is that of the transform in errors."""
    both = value_and_gradient_of(name, function, argnums, has_aux)

    @functools.wraps(both)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient


def value_and_gradient_of(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    """Return the result of ``value_and_grad``; ``name`` is that of the transform in errors."""
    is_single = isinstance(argnums, int)
    numbers = argument_numbers(name, function, argnums)

    @named_after(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        wrt = positions(name, numbers, len(args))

        def check() -> None:
            check_arguments(name, function, wrt, args)

        result, pullback = differentiated(name, function, args, kwargs, wrt, has_aux, check)
        _check_value(name, result, has_aux)
        gradients = pullback()
        return result, gradients[0] if is_single else gradients

    return transformed


def named_after(function: Callable[..., Any]) -> Callable[[F], F]:
    """Return ``functools.wraps`` of a function, without the marks of an operation."""

    def wrapped(transformed: F) -> F:
        functools.wraps(function)(transformed)
        transformed.__dict__.pop("operation", None)
        return transformed

    return wrapped


def argument_numbers(
    name: str, function: Callable[..., Any], argnums: int | Sequence[int]
) -> tuple[int, ...]:
    """Check the parameters of a transform; return ``argnums`` as a tuple."""
    if not callable(function):
        raise TypeError(f"{name}: function must be callable, got {type(function).__name__}")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not numbers or not all(isinstance(n, int) for n in numbers):
        raise TypeError(f"{name}: argnums must be an int or a sequence of them, got {argnums!r}")
    return numbers


def positions(name: str, numbers: tuple[int, ...], n_args: int) -> tuple[int, ...]:
    """Return numbers of positional arguments as indices; negative ones count from the end."""
    for number in numbers:
        if not -n_args <= number < n_args:
            raise ValueError(
                f"{name}: argnums must name positional arguments of the call, which has {n_args}, "
                f"got {number}"
            )
    return tuple(number % n_args for number in numbers)


def check_arguments(
    name: str, function: Callable[..., Any], numbers: Sequence[int], args: Sequence[Any],
    has_gradients: Callable[[str], bool] = dtypes.has_gradients,
) -> None:  # fmt: skip
    """Raise unless the arguments of these numbers are trees of arrays of suitable dtypes."""
    for number in numbers:
        _check_argument(name, function, number, args[number], has_gradients)


def _check_argument(
    name: str, function: Callable[..., Any], number: int, value: Any,
    has_gradients: Callable[[str], bool],
) -> None:  # fmt: skip
    fixed = tree.constants(tree.flatten(value)[1])
    for (path, leaf), is_constant in zip(tree.paths(value), fixed, strict=True):
        if is_constant:
            continue
        is_array = nested_arguments.is_array(leaf) or isinstance(leaf, Tensor)
        if is_array and has_gradients(str(leaf.dtype)):
            continue
        actual = str(leaf.dtype) if is_array else type(leaf).__name__
        raise TypeError(
            f"{name}: {_parameter(function, number)}{path} must be an array of floating-point "
            f"numbers, got {actual}"
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
    if math.prod(value.shape) != 1:
        raise ValueError(
            f"{name}: the function must return an array of one element, got shape {value.shape}"
        )
    if not dtypes.is_float(dtypes.name_of(value.dtype)):
        raise TypeError(
            f"{name}: the function must return a floating-point number, got {value.dtype}"
        )
