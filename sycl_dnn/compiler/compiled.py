# SPDX-License-Identifier: Apache-2.0
"""A function over arrays that becomes one fused program for each kind of arguments."""

from __future__ import annotations

from typing import Any, Generic, overload

from sycl_dnn.compiler import structure
from sycl_dnn.compiler.bound import Bound
from sycl_dnn.compiler.lowering import Lowered
from sycl_dnn.compiler.programs import Programs
from sycl_dnn.compiler.report import Report, report, shapes_in
from sycl_dnn.dispatch import allocation, arguments
from sycl_dnn.dispatch.outputs import check_out
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.signature import P, R

__all__ = ["Compiled"]


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
        given, key = self._key(args, kwargs)
        if given.traced:
            return self._function(*args, **kwargs)
        queue = arguments.shared_queue(given.arrays, self.__name__)
        outs = () if out is None else structure.leaves_of(out)
        if outs:
            key += tuple(check_out(self.__name__, o, given, queue) for o in outs)
        place, stream = place_of(queue)
        key += (place,)
        plan = self._plans.get(key)
        if plan is None:
            if not arguments.is_describable(given.arrays):
                return self._on_copies(args, kwargs, out)
            plan = self._made(key, args, kwargs, out, given, queue)
        else:
            self._touch(key)
        if not isinstance(plan, Lowered):
            return self._function(*args, **kwargs)
        kind = allocation.coerced_kind(given.arrays)
        written = {i: o.get_array() for i, o in enumerate(outs)} or None
        registers = plan.executable.run(queue, stream, given.arrays, kind, written)
        return plan.results(registers, given.objects) if out is None else out

    def derived(self, *passes: Any) -> Compiled[P, R]:
        """Return the same function compiled with further passes over its graph."""
        made: Compiled[P, R] = Compiled(
            self._function, self._constants, self._dtype, self._capacity, self._fallback,
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
        args = structure.replaced(args, arguments.describable)
        plan = self._program(args, {})
        given, _ = self._key(args, {})
        queue = arguments.shared_queue(given.arrays, self.__name__)
        _, stream = place_of(queue)
        kind = allocation.coerced_kind(given.arrays)
        registers = plan.executable.run(queue, stream, given.arrays, kind)
        queue.wait()
        return plan, registers

    def _on_copies(self, args: Any, kwargs: Any, out: Any) -> Any:
        """Run with dense copies of the arrays whose strides oneDNN cannot describe."""
        swap = arguments.describable
        swapped = structure.replaced(args, swap)
        return self(*swapped, out=out, **structure.replaced(kwargs, swap))

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
        lines = [f"{self.__name__}: {len(self._plans)} programs"]
        for key, plan in list(self._plans.items()):
            shapes = " ".join(shapes_in(key)) or "no arrays"
            if not isinstance(plan, Lowered):
                lines.append(f"  {shapes}: operation by operation, the device has no {plan.row}")
                continue
            arena = sum(p.arena_bytes for p in plan.executable.programs)
            steps = f"{len(plan.graph.nodes)} steps of {plan.n_recorded}"
            lines.append(f"  {shapes}: {steps}, arena {arena:,} bytes")
        return "\n".join(lines)

    def warmup(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compile for arguments like these, run once, and wait."""
        self(*args, **kwargs)
        given, _ = self._key(args, kwargs)
        arguments.shared_queue(given.arrays, self.__name__).wait()
        return self

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        """Bind a call to its arrays, so that repeating it costs no more than submitting it.

        Returns
        -------
        Bound
            Called without arguments it submits the work and returns the result, always the same
            arrays. It reads what the arguments hold then.

        Raises
        ------
        ValueError
            Arrays have negative strides.
        RuntimeError
            The function runs operation by operation, since the device lacks one.
        """
        given, _ = self._key(args, kwargs)
        if not arguments.is_describable(given.arrays):
            raise ValueError("bind: arrays must have positive strides without overlap")
        plan = self._program(args, kwargs)
        return Bound(plan, given, arguments.shared_queue(given.arrays, self.__name__))

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}, {len(self._plans)} programs>"
