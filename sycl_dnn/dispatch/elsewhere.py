# SPDX-License-Identifier: Apache-2.0
"""Run on the CPU's engine what a GPU's engine lacks."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn.device import default_queue
from sycl_dnn.dispatch import arguments, policy
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.frozen import Frozen
from sycl_dnn.dispatch.trace import NeedsAnotherDevice


def moved(value: Any, queue: Any) -> Any:
    """Return a copy of an array on another queue."""
    if isinstance(value, Frozen):
        return moved(value.data, queue)
    if isinstance(value, Array):
        return Array(moved(value.data, queue), value.dtype)
    return dpnp.asarray(value, sycl_queue=queue) if hasattr(value, "sycl_queue") else value


def run_on_cpu(
    operation: Any, lack: NeedsAnotherDevice, queue: Any, args: Any, kwargs: Any, out: Any
) -> Any:
    """Call ``operation`` with copies on the CPU and copy the results back.

    Raises
    ------
    Unimplemented
        The CPU's engine has said no itself, or the policy is ``"error"``.
    """
    if queue.sycl_device.is_cpu or policy.current().fallback == "error":
        raise lack.error
    policy.warn_once(
        policy.FallbackWarning,
        (operation.name, "cpu"),
        f"{operation.name}: the engine of {queue.sycl_device.name} has no {lack.row} for these "
        "arrays; it runs on the CPU, with copies there and back (set_fallback('error') refuses "
        "instead)",
    )
    cpu = default_queue("cpu")
    there = [arguments.replaced(a, lambda v: moved(v, cpu)) for a in args]
    named = {n: arguments.replaced(v, lambda v: moved(v, cpu)) for n, v in kwargs.items()}
    result = operation(tuple(there), named)
    back = arguments.replaced(result, lambda v: moved(v, queue))
    if out is None:
        return back
    out[...] = back
    return out


