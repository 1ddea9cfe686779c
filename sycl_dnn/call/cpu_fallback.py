# SPDX-License-Identifier: Apache-2.0
"""Fallback to the CPU engine for what a GPU engine does not support."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn.call import arguments, cache, double_precision_refusals
from sycl_dnn.device import default_queue
from sycl_dnn.errors import Unimplemented
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import array_writes, nested_arguments, policy, profile_notes
from sycl_dnn.trace.array import Array, carrier
from sycl_dnn.trace.frozen import Frozen
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import NeedsAnotherDevice


def moved(value: Any, queue: Any) -> Any:
    """Return a copy of an array on another queue."""
    if isinstance(value, Frozen):
        return moved(value.data, queue)
    if isinstance(value, Array):
        return Array(moved(value.bits, queue), value.dtype)
    if not hasattr(value, "sycl_queue"):
        return value
    return profile_notes.array_call(
        "to another device", lambda: dpnp.asarray(value, sycl_queue=queue), [value], queue
    )


def _arrays(args: Any, kwargs: Any) -> list[Any]:
    """Return the arrays of a call in the order in which a trace numbers them."""
    arrays: list[Any] = []
    for value in (*args, *kwargs.values()):
        nested_arguments.replaced(value, arrays.append)
    return arrays


def _has_doubles(arrays: list[Any]) -> bool:
    return any(str(getattr(a, "dtype", "")) in ("float64", "complex128") for a in arrays)


def refusal(name: str, cause: NeedsAnotherDevice, queue: Any, arrays: list[Any]) -> Unimplemented:
    """Return the error with the name of the function and the engine's message."""
    device = queue.sycl_device.name
    text = f"{name}: oneDNN has no {cause.row} for these arrays on {device}"
    if _has_doubles(arrays):
        # GPUs with doubles compute some functions in them: only there the primitive matters.
        is_cpu = queue.sycl_device.is_cpu
        text = (
            double_precision_refusals.message(name.lstrip("_"), device)
            if is_cpu
            else f"{text}; it computes no float64 there: convert with astype('float32')"
        )
    error = Unimplemented(f"{text}\n{Exception.__str__(cause.error)}")
    error.recipe = cause.error.recipe
    return error


def _announce(name: str, cause: NeedsAnotherDevice, queue: Any, arrays: list[Any]) -> None:
    """Warn that the CPU takes over; raise the engine's error if that is not possible."""
    # The CPU engine has no float64.
    is_possible = not queue.sycl_device.is_cpu and not _has_doubles(arrays)
    if not is_possible or policy.current().fallback == "error":
        raise refusal(name, cause, queue, arrays) from None
    policy.warn_once(
        policy.FallbackWarning,
        (name, "cpu"),
        f"{name}: the engine of {queue.sycl_device.name} has no {cause.row} for these arrays; it "
        "runs on the CPU, with copies there and back (set_fallback('error') refuses instead)",
    )


def _all_moved(args: Any, kwargs: Any, queue: Any) -> tuple[list[Any], dict[str, Any]]:
    def move(value: Any) -> Any:
        return moved(value, queue)

    moved_kwargs = {n: nested_arguments.replaced(v, move) for n, v in kwargs.items()}
    return [nested_arguments.replaced(a, move) for a in args], moved_kwargs


def _updated(operation: Any, queue: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
    """Return the numbers of the arrays that a function writes to, as running statistics are."""
    collected = arguments.Collected()
    tokens = [collected.token(args), *((n, collected.token(v)) for n, v in kwargs.items())]
    place, _ = place_of(queue)
    key = ("updated", arguments.key_of(operation.body), policy.current(), place, *tokens)

    def numbers() -> tuple[int, ...]:
        trace = Trace(place.engine)
        operation.traced(trace, args, kwargs)
        trace.end()
        written = [s.argument for s, _ in trace.written if s.argument is not None]
        return tuple(n for n in written if n < len(collected.arrays))

    cached = cache.plans.get(key)
    return cache.plans.make(key, numbers) if cached is None else cached


def _write_back(
    operation: Any, call: tuple[Any, Any], cpu_call: tuple[Any, Any], queue: Any
) -> None:
    """Copy what a function wrote into the copies on the CPU to the caller's arrays."""
    originals, copies = _arrays(*call), _arrays(*cpu_call)
    for number in _updated(operation, default_queue("cpu"), *cpu_call):
        original, copy = originals[number], copies[number]
        array_writes.assign(carrier(original), carrier(moved(copy, queue)))


def run_on_cpu(
    operation: Any, cause: NeedsAnotherDevice, queue: Any, args: Any, kwargs: Any, out: Any
) -> Any:
    """Call ``operation`` with copies on the CPU; copy back the results and what it updates.

    Raises Unimplemented if the CPU's engine itself refused, or the policy is ``"error"``.
    """
    _announce(operation.name, cause, queue, _arrays(args, kwargs))
    cpu_args, cpu_kwargs = _all_moved(args, kwargs, default_queue("cpu"))
    result = operation(tuple(cpu_args), cpu_kwargs)
    _write_back(operation, (args, kwargs), (cpu_args, cpu_kwargs), queue)
    back = nested_arguments.replaced(result, lambda v: moved(v, queue))
    if out is None:
        return back
    array_writes.assign(carrier(out), carrier(back))
    return out


class CpuPullback:
    """The pullback of a function that ran on the CPU for arrays of another device."""

    def __init__(self, pullback: Any, queue: Any, cpu: Any) -> None:
        self._pullback = pullback
        self._queue = queue
        self._cpu = cpu

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument, on the arguments' device."""
        cpu_dy = nested_arguments.replaced(dy, lambda v: moved(v, self._cpu))
        return nested_arguments.replaced(self._pullback(cpu_dy), lambda v: moved(v, self._queue))


def vjp_on_cpu(
    vjp: Any, function: Any, operation: Any, cause: NeedsAnotherDevice, queue: Any, args: Any,
    kwargs: Any,
) -> tuple[Any, CpuPullback]:  # fmt: skip
    """Take value and pullback with copies on the CPU; raises as ``run_on_cpu``."""
    _announce(getattr(function, "__name__", "vjp"), cause, queue, _arrays(args, kwargs))
    cpu = default_queue("cpu")
    cpu_args, cpu_kwargs = _all_moved(args, kwargs, cpu)
    y, pullback = vjp(function, *cpu_args, **cpu_kwargs)
    _write_back(operation, (args, kwargs), (cpu_args, cpu_kwargs), queue)
    back = nested_arguments.replaced(y, lambda v: moved(v, queue))
    return back, CpuPullback(pullback, queue, cpu)
