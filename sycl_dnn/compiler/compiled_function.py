# SPDX-License-Identifier: Apache-2.0
"""A function over arrays that becomes one fused program for each kind of arguments."""

from __future__ import annotations

import copy
import sys
import weakref
from typing import Any, Generic, overload

from sycl_dnn.call import arguments
from sycl_dnn.call.arguments import UserCall
from sycl_dnn.call.operation import P, R, is_in_order
from sycl_dnn.compiler.compiled_call import CompiledCall
from sycl_dnn.compiler.lowering import Lowered
from sycl_dnn.compiler.programs import Programs
from sycl_dnn.compiler.step_report import Report, report, shapes_in
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import allocation, nested_arguments, policy
from sycl_dnn.trace.array import check_out


class Compiled(Programs, Generic[P, R]):
    """A function that runs as one fused program. Made by ``compile``.

    Calls take and return what the function does: arrays, nested in lists, tuples and dicts, and
    parameters that are no arrays. For each new combination of shapes, strides, dtypes, parameters
    and device the function is traced and compiled anew; the results are kept, the least recently
    used go first. Safe for several threads.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Run the function; return its results, which are there when the queue has come to them.

        Parameters
        ----------
        *args, **kwargs
            Those of the function.
        out : array or nest of arrays, optional
            Written and returned, nested as the result.
        """
        found = self._calls.call(None, policy.current(), args, kwargs, out)
        if found is not NotImplemented:
            return found
        call, key = self._key(args, kwargs)
        if call.traced:
            return self._subject()(*args, **kwargs)
        queue = arguments.shared_queue(call.arrays, self.__name__)
        outs = () if out is None else nested_arguments.arrays_of(out)
        if outs:
            key += tuple(check_out(self.__name__, o, call, queue) for o in outs)
        place, stream = place_of(queue)
        key += (place,)
        plan = self._find(key, call)
        if plan is None:
            if not arguments.is_describable(call.arrays):
                swapped, named = arguments.all_describable(args, kwargs)
                return self(*swapped, out=out, **named)
            plan = self._made(key, args, kwargs, out, call, queue)
        if not isinstance(plan, Lowered):
            return self._subject()(*args, **kwargs)
        written = {i: o.get_array() for i, o in enumerate(outs)} or None
        registers = self._submit(plan, call, queue, stream, written)
        if self._is_repeatable and not call.others:
            held = set(self._constant_arguments())
            given = [v for i, v in enumerate(args) if i not in held]
            if is_in_order(call.arrays, given, {n: v for n, v in kwargs.items() if n not in held}):
                self._remember(key, plan, args, kwargs, out, stream)
        return plan.results(registers, call.objects) if out is None else out

    @staticmethod
    def _submit(
        plan: Lowered, call: UserCall, queue: Any, stream: Any, outs: dict[int, Any] | None = None
    ) -> list[Any]:
        kind = allocation.coerced_kind(call.arrays)
        return plan.executable.run(queue, stream, plan.arrays(call, queue), kind, outs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the compiled method of an instance; programs are kept for each instance."""
        return self if instance is None else CompiledMethod(instance, self._of_instance(instance))

    def _of_instance(self, instance: Any) -> Compiled:
        known = self._methods.get(id(instance))
        if known is None:
            known = _compiled_again(self._function, (*self._settings(), instance), self._extra)
            self._methods[id(instance)] = known
            # The instance is not kept alive; what was compiled for it goes with it.
            weakref.finalize(instance, self._methods.pop, id(instance), None)
        return known

    def _settings(self) -> tuple[Any, ...]:
        return (
            self._constants, self._dtype, self._most, self._fallback, self._switches,
            self._lowering,
        )  # fmt: skip

    def __reduce__(self) -> Any:
        module = sys.modules.get(getattr(self._function, "__module__", ""))
        found: Any = module
        for name in getattr(self._function, "__qualname__", "").split("."):
            found = getattr(found, name, None)
        if found is self:  # a decorated function is found by its name
            return self._function.__qualname__
        return _compiled_again, (self._subject(), self._settings(), self._extra)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        function = copy.deepcopy(self._subject(), memo)
        return _compiled_again(function, self._settings(), self._extra)

    def derived(self, *passes: Any) -> Compiled[P, R]:
        """Return the same function compiled with further passes over its graph."""
        made: Compiled[P, R] = Compiled(
            self._function, self._constants, self._dtype, self._most, self._fallback,
            self._switches, self._lowering,
        )  # fmt: skip
        made._extra = (*self._extra, *passes)
        return made

    def run_once(self, args: tuple[Any, ...]) -> tuple[Lowered, list[Any]]:
        """Run on arguments; return the program and all that it wrote, after waiting.

        Raises
        ------
        RuntimeError
            The function runs operation by operation, since the device lacks one.
        """
        args, _ = arguments.all_describable(args, {})
        plan = self._program(args, {})
        call, _ = self._key(args, {})
        queue = arguments.shared_queue(call.arrays, self.__name__)
        _, stream = place_of(queue)
        registers = self._submit(plan, call, queue, stream)
        queue.wait()
        return plan, registers

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Return what runs for arguments like these, compiled if it is not yet.

        Returns
        -------
        Report
            Steps, implementations, what was fused and what was not, memory; ``str`` of it is a
            text.

        Raises
        ------
        RuntimeError
            The function runs operation by operation, since the device lacks one.
        """
        plan = self._program(args, kwargs)
        nbytes = self._pool.nbytes
        return report(self.__name__, plan.graph, plan.n_recorded, plan.executable, nbytes)

    def summary(self) -> str:
        """Return a line for each program that is kept."""
        lines = [f"{self.__name__}: {len(self._each_plan())} programs"]
        for key, variants in list(self._plans.items()):
            shapes = " ".join(shapes_in(key)) or "no arrays"
            lines += [f"  {shapes}: {_described(plan)}" for plan in variants]
        return "\n".join(lines)

    def warmup(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compile for arguments like these, run once, and wait."""
        self(*args, **kwargs)
        call, _ = self._key(args, kwargs)
        arguments.shared_queue(call.arrays, self.__name__).wait()
        return self

    def bind(self, *args: Any, **kwargs: Any) -> CompiledCall:
        """Bind a call to its arrays, so that repeating it costs no more than submitting it.

        Returns
        -------
        CompiledCall
            Called without arguments it submits the work and returns the result, always the same
            arrays. It reads what the arguments hold then.

        Raises
        ------
        ValueError
            Arrays have negative strides.
        RuntimeError
            The function runs operation by operation, since the device lacks one.
        """
        return CompiledCall(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}, {len(self._each_plan())} programs>"


class CompiledMethod:
    """A compiled function bound to an instance; all that ``Compiled`` has, for that instance."""

    __slots__ = ("__self__", "_compiled")

    def __init__(self, instance: Any, compiled: Compiled) -> None:
        self.__self__ = instance
        self._compiled = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the method; see ``Compiled``."""
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self._compiled.__name__)

    def __repr__(self) -> str:
        return f"<{self._compiled!r} of {self.__self__!r}>"


def _compiled_again(function: Any, settings: Any, extra: tuple[Any, ...]) -> Compiled:
    made: Compiled = Compiled(function, *settings)
    made._extra = extra
    return made


def _described(plan: Any) -> str:
    if not isinstance(plan, Lowered):
        return f"operation by operation, the device has no {plan.row}"
    arena = sum(p.arena_bytes for p in plan.executable.programs)
    return f"{len(plan.graph.nodes)} steps of {plan.n_recorded}, arena {arena:,} bytes"
