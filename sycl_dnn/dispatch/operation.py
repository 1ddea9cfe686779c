# SPDX-License-Identifier: Apache-2.0
"""Functions over arrays whose bodies are written over tensors and traced once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sycl_dnn.call import nesting, numbers
from sycl_dnn.dispatch import allocation, arguments, cache, layout, policy
from sycl_dnn.dispatch.arguments import Collected
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.autocast import casting
from sycl_dnn.dispatch.call_plan import call_plan_of
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.outputs import Target, check_out, check_strides, sharing
from sycl_dnn.dispatch.places import Place, place_of
from sycl_dnn.dispatch.pool import pool_of
from sycl_dnn.dispatch.program import finalized
from sycl_dnn.dispatch.record import NeedsAnotherDevice
from sycl_dnn.dispatch.signature import Function, P, R, with_out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

__all__ = ["Operation", "operation"]


class Plan:
    """An executable and the form of what its function returns."""

    __slots__ = ("call_plan", "executable", "form")

    def __init__(self, executable: Executable, form: Any) -> None:
        self.executable = executable
        self.form = form
        self.call_plan = call_plan_of(executable, form)

    def run(self, queue: Any, stream: Any, found: Collected, out: Any = None) -> Any:
        """Submit for the arrays of a call; return what the function returns."""
        kind = allocation.coerced_kind(found.arrays)
        outs = None if out is None else {0: out.get_array()}
        executable = self.executable
        registers = executable.run(queue, stream, found.arrays, kind, outs, found.frozen)
        if out is not None:
            return out
        return self.form.build(executable.leaves(registers, found.objects))


class Operation:
    """A function of ``sycl_dnn.functional``: its body and how it is called on arrays."""

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body
        self.name = getattr(body, "__name__", type(body).__name__)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
        """Run the function on arrays; inside a trace, join it."""
        result = cache.calls.call(self, policy.current(), args, kwargs, out)
        if result is not NotImplemented:
            return result
        found = Collected()
        key = [self, policy.current()]
        for value in args:
            key.append(found.token(value))
        for name in kwargs:
            key.append(name)
            key.append(found.token(kwargs[name]))
        if found.traced:
            return self._inline(args, kwargs)
        return self._run(key, found, args, kwargs, out)

    def _run(self, key: list[Any], found: Collected, args: Any, kwargs: Any, out: Any) -> Any:
        """Run with the plan of the key, made if it is not there."""
        queue = arguments.shared_queue(found.arrays, self.name)
        place, stream = place_of(queue)
        key.append(place)
        if out is not None:
            key.append(check_out(self.name, out, found, queue))
        whole = tuple(key)
        plan = cache.get(whole)
        if plan is None:
            if not arguments.is_describable(found.arrays):
                return self(*arguments.all_describable(args, kwargs), out)
            try:
                plan = cache.make(whole, lambda: self.build(place, args, kwargs, out))
            except NeedsAnotherDevice as lack:
                return self._elsewhere(lack, queue, args, kwargs, out)
        result = plan.run(queue, stream, found, out)
        if plan.call_plan is not None:
            call = (self, policy.current(), args, kwargs, out)
            cache.calls.remember(*call, whole, plan.call_plan, stream, pool_of(queue))
        return result

    def build(
        self, place: Place, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None
    ) -> Plan:
        """Trace the body for arguments like these."""
        trace = Trace(place.engine)
        swapped, named = arguments.traced(trace, args, kwargs)
        # A result that the caller gave has a dtype already.
        body = self.body if out is None else getattr(self.body, "uncast", self.body)
        try:
            result = body(*swapped, **named)
        except AttributeError:
            arguments.check_tensors(self.name, self.body, swapped, named)
            raise
        leaves, form = nesting.result_of(result, self.name, trace.capture)
        targets = {} if out is None else {0: self._target(leaves, out, args, kwargs)}
        finals = finalized(trace, leaves, targets)
        executable = Executable(trace, trace.steps, finals, trace.arguments)
        trace.end()
        return Plan(executable, form)

    def _target(self, leaves: list[Tensor], out: Any, args: Any, kwargs: Any) -> Target:
        if len(leaves) != 1:
            raise TypeError(f"{self.name}: out must be left away where several arrays are returned")
        check_strides(self.name, out)
        tensor = leaves[0]
        name = out.dtype if isinstance(out, Array) else out.dtype.name
        if out.shape != tensor.shape or name != tensor.dtype:
            raise ValueError(
                f"{self.name}: out must have shape {tensor.shape} and dtype {tensor.dtype}, got "
                f"{out.shape} and {name}"
            )
        found = Collected()
        found.token((args, tuple(kwargs.values())))
        desc = layout.strided(tensor.shape, tensor.dtype, out.get_array().strides)
        return Target(desc, *sharing(out.get_array(), found.arrays))

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Join the trace that the tensors among the arguments belong to."""
        args, kwargs = numbers.in_arrays(self.name, args, kwargs)
        trace = nesting.trace_of((args, tuple(kwargs.values())))
        swap = trace.capture
        swapped = [nesting.replaced(a, swap) for a in args]
        named = {n: nesting.replaced(v, swap) for n, v in kwargs.items()}
        tape, start = trace.tape, len(trace.tape)
        result = self.body(*swapped, **named)
        for entry in tape[start:]:
            # The outermost function comes last: that is the one that the user called.
            entry.function = self.name
        return result

    def _elsewhere(
        self, lack: NeedsAnotherDevice, queue: Any, args: Any, kwargs: Any, out: Any
    ) -> Any:
        """Run on the CPU's engine what a GPU's lacks, with copies there and back."""
        from sycl_dnn.dispatch.elsewhere import run_on_cpu

        return run_on_cpu(self, lack, queue, args, kwargs, out)


def operation(body: Callable[P, R]) -> Function[P, R]:
    """Make a function over arrays of a body over tensors.

    The result takes and returns dpnp arrays, ``Array`` and ``Frozen`` objects, and an ``out``
    array where it returns one; inside a trace it joins that trace.
    """
    self = Operation(casting(body))

    @functools.wraps(body)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return self(args, kwargs, out)

    function.operation = self  # type: ignore[attr-defined]
    with_out(function, body)
    return function  # type: ignore[return-value]
