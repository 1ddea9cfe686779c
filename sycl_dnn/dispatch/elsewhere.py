# SPDX-License-Identifier: Apache-2.0
"""Run on the CPU's engine what a GPU's engine lacks."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn.device import default_queue
from sycl_dnn.dispatch import arguments, policy
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.record import NeedsAnotherDevice


def moved(value: Any, queue: Any) -> Any:
    """Return a copy of an array on another queue."""
    if isinstance(value, Frozen):
        return moved(value.data, queue)
    if isinstance(value, Array):
        return Array(moved(value.data, queue), value.dtype)
    return dpnp.asarray(value, sycl_queue=queue) if hasattr(value, "sycl_queue") else value


def _announce(name: str, lack: NeedsAnotherDevice, queue: Any) -> None:
    """Warn that the CPU takes over; raise what the engine said if that is not possible."""
    if queue.sycl_device.is_cpu or policy.current().fallback == "error":
        raise lack.error
    policy.warn_once(
        policy.FallbackWarning,
        (name, "cpu"),
        f"{name}: the engine of {queue.sycl_device.name} has no {lack.row} for these arrays; it "
        "runs on the CPU, with copies there and back (set_fallback('error') refuses instead)",
    )


def _all_moved(args: Any, kwargs: Any, queue: Any) -> tuple[list[Any], dict[str, Any]]:
    def move(value: Any) -> Any:
        return moved(value, queue)

    named = {n: arguments.replaced(v, move) for n, v in kwargs.items()}
    return [arguments.replaced(a, move) for a in args], named


def run_on_cpu(
    operation: Any, lack: NeedsAnotherDevice, queue: Any, args: Any, kwargs: Any, out: Any
) -> Any:
    """Call ``operation`` with copies on the CPU and copy the results back.

    Raises
    ------
    Unimplemented
        The CPU's engine has said no itself, or the policy is ``"error"``.
    """
    _announce(operation.name, lack, queue)
    there, named = _all_moved(args, kwargs, default_queue("cpu"))
    result = operation(tuple(there), named)
    back = arguments.replaced(result, lambda v: moved(v, queue))
    if out is None:
        return back
    out[...] = back
    return out


class PullbackElsewhere:
    """The pullback of a function that ran on the CPU for arrays of another device."""

    def __init__(self, pullback: Any, queue: Any, cpu: Any) -> None:
        self._pullback = pullback
        self._queue = queue
        self._cpu = cpu

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        """Return one gradient for each positional argument, on the arguments' device."""
        there = arguments.replaced(dy, lambda v: moved(v, self._cpu))
        return arguments.replaced(self._pullback(there), lambda v: moved(v, self._queue))


def vjp_on_cpu(
    vjp: Any, function: Any, lack: NeedsAnotherDevice, queue: Any, args: Any, kwargs: Any
) -> tuple[Any, PullbackElsewhere]:
    """Take value and pullback with copies on the CPU; raises as ``run_on_cpu``."""
    _announce(getattr(function, "__name__", "vjp"), lack, queue)
    cpu = default_queue("cpu")
    there, named = _all_moved(args, kwargs, cpu)
    y, pullback = vjp(function, *there, **named)
    back = arguments.replaced(y, lambda v: moved(v, queue))
    return back, PullbackElsewhere(pullback, queue, cpu)
