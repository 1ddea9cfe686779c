# SPDX-License-Identifier: Apache-2.0
"""``Compiled``: a function that runs as one fused program per signature."""

from __future__ import annotations

import copy
import sys
import weakref
from collections.abc import Callable
from typing import Any, Generic, overload

from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import tree
from sycl_dnn.call import arguments
from sycl_dnn.call.attribute_changes import Undeclared
from sycl_dnn.call.debugging import checked_for_nans
from sycl_dnn.call.operation import P, R
from sycl_dnn.call.placed_call import PlacedCall
from sycl_dnn.compiler.compiled_call import CompiledCall
from sycl_dnn.compiler.lowering import Lowered, written, written_in_trace
from sycl_dnn.compiler.programs import Programs
from sycl_dnn.compiler.step_report import Report, report, shapes_in
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.module_arrays import in_manner, without_methods
from sycl_dnn.trace.values import MixedTraces, Tensor


class Compiled(Programs, Generic[P, R]):
    """A function that runs as one fused program, created by ``compile``.

    Calls accept and return what the function does: arrays, nested in lists, tuples and dicts, and
    parameters that are not arrays. The function is traced and compiled for each new combination of
    shapes, strides, dtypes, parameters and device; programs are cached, and the least recently used
    are dropped first. Thread-safe.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Run the function; results are complete once the queue has reached them.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function.
        out : array or nest of arrays, optional
            Overwritten and returned; nested like the result.
        """
        repeated = self._repeat(policy.SOURCES, args, kwargs, out)
        if repeated is not NotImplemented:
            return in_manner(repeated) if out is None else repeated
        arrays = without_methods(args)
        if arrays is not args:  # which the table of calls does not know
            return self(*arrays, out=out, **kwargs)
        if policy.current().debug_nans:
            return checked_for_nans(
                self.__name__, lambda: self._undonated(*args, out=out, **kwargs), (args, kwargs),
                lambda: self.subject(*args, **kwargs),
            )  # fmt: skip
        call, key = self._key(args, kwargs)
        traced_outs = [v for v in tree.leaves(out) if isinstance(v, Tensor)]
        if traced_outs and not call.traced:  # arrays that it captures are arguments of the trace
            args, kwargs = nested_arguments.replaced((args, kwargs), traced_outs[0].trace.capture)
        if call.traced or traced_outs:
            result = self.subject(*args, **kwargs)
            return result if out is None else written_in_trace(self.__name__, result, out)
        outs = () if out is None else nested_arguments.arrays_of(out)
        try:
            placed = PlacedCall(self.__name__, call, out, outs)
        except ExecutionPlacementError as error:
            raise arguments.named_placement(
                error, self.__name__, self.subject, args, kwargs
            ) from None
        key += placed.facts
        try:
            plan = self._plan_for(key, placed, args, kwargs)
        except MixedTraces:  # it captured a value of the enclosing trace
            if out is not None:
                raise
            plan = None
        except Undeclared as attributes:
            repeat = lambda: self(*args, out=out, **kwargs)  # noqa: E731
            return attributes.retried(repeat, self.keeps_states)
        if not isinstance(plan, Lowered):
            eager_result = self.subject(*args, **kwargs)
            return eager_result if out is None else written(self.__name__, eager_result, out)
        result = self._run(plan, placed, key, args, kwargs)
        return in_manner(result) if out is None else result

    def _run(self, plan: Lowered, placed: PlacedCall, key: Any, args: Any, kwargs: Any) -> Any:
        """Run a program; let calls like this one bypass Python, if possible."""
        result = placed.run(plan)
        if plan.assigned:
            return plan.assigned.done(result, [*args, *kwargs.values()])
        # Donated arrays must be checked at every call; beside constants floats have another order.
        if not (self._donated or self._constants and placed.call.numbers):
            fixed = self._plans.static_of(key)
            placed.remember(self._plans, policy.SOURCES, args, kwargs, key, plan, fixed=fixed)
        return result

    @property
    def _undonated(self) -> Compiled:
        """A version without donation, for arguments that are still needed after the call."""
        if not self._donated:
            return self
        if self._other is None:
            settings = (*self._settings()[:-1], ())
            self._other = _compiled_again(self.subject, settings, self._extra)
        return self._other

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the compiled method of an instance; each instance has its own programs."""
        return self if instance is None else CompiledMethod(instance, self._of_instance(instance))

    def _of_instance(self, instance: Any) -> Compiled:
        bound = self._methods.get(id(instance))
        if bound is None:
            bound = _compiled_again(self._function, (*self._settings(), instance), self._extra)
            self._methods[id(instance)] = bound
            # The instance is not kept alive; its programs are dropped with it.
            weakref.finalize(instance, self._methods.pop, id(instance), None)
        return bound

    def _settings(self) -> tuple[Any, ...]:
        return (
            self._constants, self._dtype, self._most, self._fallback, self._switches,
            self._lowering, self._donated,
        )  # fmt: skip

    def __reduce__(self) -> Any:
        module = sys.modules.get(getattr(self._function, "__module__", ""))
        attribute: Any = module
        for name in getattr(self._function, "__qualname__", "").split("."):
            attribute = getattr(attribute, name, None)
        if attribute is self:  # pickle looks decorated functions up by name
            return self._function.__qualname__
        return _compiled_again, (self.subject, self._settings(), self._extra)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return self.of(copy.deepcopy(self.subject, memo))

    @property
    def form(self) -> tuple[Any, ...]:
        """Everything but the function; hashable."""
        return repr(self._settings()), self._extra

    def of(self, function: Callable[..., Any]) -> Compiled:
        """Return another function compiled in the same way."""
        return _compiled_again(function, self._settings(), self._extra)

    def derived(self, *passes: Any) -> Compiled[P, R]:
        """Return a version compiled with additional passes."""
        return _compiled_again(self._function, self._settings(), (*self._extra, *passes))

    def run_once(self, args: tuple[Any, ...]) -> tuple[Lowered, list[Any]]:
        """Run and wait; return the program and everything it wrote.

        Raises
        ------
        RuntimeError
            The function runs operation by operation because the device lacks one.
        """
        plan = self._program(args, {})
        placed, _ = self._placed(args, {})
        registers = placed.registers(plan)
        placed.queue.wait()
        return plan, registers

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Return a report of what runs for these arguments, compiling if necessary.

        Returns
        -------
        Report
            Steps, implementations, fusions and refused fusions, memory; ``str`` formats it.

        Raises
        ------
        RuntimeError
            The function runs operation by operation because the device lacks one.
        """
        plan = self._program(args, kwargs)
        return report(
            self.__name__, plan.graph, plan.n_recorded, plan.executable, self._pool.nbytes,
            plan.check.named(),
        )  # fmt: skip

    def summary(self) -> str:
        """Return one line per cached program."""
        lines = [f"{self.__name__}: {self._plans.size} programs"]
        for key, plans in self._plans.items():
            shapes = " ".join(shapes_in(key)) or "no arrays"
            lines += [f"  {shapes}: {_plan_summary(plan)}" for plan in plans]
        return "\n".join(lines)

    def warmup(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compile for these arguments, run once, and wait."""
        self(*args, **kwargs)
        self._placed(args, kwargs)[0].queue.wait()
        return self

    def bind(self, *args: Any, **kwargs: Any) -> CompiledCall:
        """Bind a call to its arrays, so that repeating it costs only the submission.

        Returns
        -------
        CompiledCall
            Called without arguments it submits the work and returns the result, always in the same
            arrays. It reads the current contents of the arguments.

        Raises
        ------
        RuntimeError
            The function runs operation by operation because the device lacks one.
        """
        return CompiledCall(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}, {self._plans.size} programs>"


class CompiledMethod:
    """A compiled function bound to an instance, with the interface of ``Compiled``."""

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
    compiled: Compiled = Compiled(function, *settings)
    compiled._extra = extra
    return compiled


def _plan_summary(plan: Any) -> str:
    if not isinstance(plan, Lowered):
        return f"operation by operation, the device has no {plan.row}"
    arena = sum(p.arena_bytes for p in plan.executable.programs)
    return f"{len(plan.graph.nodes)} steps of {plan.n_recorded}, arena {arena:,} bytes"
