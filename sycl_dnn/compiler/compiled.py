# SPDX-License-Identifier: Apache-2.0
"""A function over arrays that becomes one fused program for each kind of arguments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn.compiler import structure
from sycl_dnn.compiler.bound import Bound
from sycl_dnn.compiler.constants import Pool
from sycl_dnn.compiler.lowering import Lowered, traced
from sycl_dnn.compiler.report import Report, report, shapes_in
from sycl_dnn.compiler.targets import targets_of
from sycl_dnn.dispatch import allocation, arguments, noted, policy
from sycl_dnn.dispatch.cache import CacheInfo
from sycl_dnn.dispatch.outputs import check_out
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.record import NeedsAnotherDevice

__all__ = ["Compiled"]


class Compiled:
    """A function that runs as one fused program. Made by ``compile``.

    Calls take and return what the function does: arrays, nested in lists, tuples and dicts, and
    parameters that are no arrays. For each new combination of shapes, strides, dtypes, parameters
    and device the function is traced and compiled anew; the results are kept, the least recently
    used go first. Safe for several threads.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        constants: Sequence[str] = (),
        dtype: str | None = None,
        cache_size: int = 64,
        fallback: str = "auto",
        passes: Mapping[str, bool] | None = None,
    ) -> None:
        self._switches = dict(passes or {})
        self._function = function
        self._extra: tuple[Any, ...] = ()
        self._constants = (constants,) if isinstance(constants, str) else tuple(constants)
        self._signature = _signature(function, self._constants)
        self._dtype = dtype
        self._capacity = cache_size
        self._fallback = fallback
        self._plans: OrderedDict[Any, Any] = OrderedDict()
        self._hits = self._misses = 0
        self._lock = threading.RLock()
        self._pool = Pool()
        functools.update_wrapper(self, function, updated=())
        self.__name__ = getattr(function, "__name__", type(function).__name__)

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

    def derived(self, *passes: Any) -> Compiled:
        """Return the same function compiled with further passes over its graph."""
        made = Compiled(
            self._function, self._constants, self._dtype, self._capacity, self._fallback,
            self._switches,
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

    def _program(self, args: Any, kwargs: Any) -> Lowered:
        plan = self._plan(args, kwargs)
        if not isinstance(plan, Lowered):
            raise RuntimeError(
                f"{self.__name__}: runs operation by operation: the device has no {plan.row}"
            )
        return plan

    def _plan(self, args: Any, kwargs: Any) -> Any:
        """Return the program for a call, made if it is not there."""
        swap = arguments.describable
        args, kwargs = structure.replaced(args, swap), structure.replaced(kwargs, swap)
        given, key = self._key(args, kwargs)
        queue = arguments.shared_queue(given.arrays, self.__name__)
        place, _ = place_of(queue)
        return self._made((*key, place), args, kwargs, None, given, queue)

    def _key(self, args: Any, kwargs: Any) -> tuple[structure.Given, tuple[Any, ...]]:
        given = structure.Given()
        if not self._constants:
            key = [given.token(v) for v in args]
            for name, value in kwargs.items():
                key += (name, given.token(value))
            return given, (policy.current(), *key)
        bound = self._signature.bind(*args, **kwargs).arguments
        key = []
        for name, value in bound.items():
            is_held = name in self._constants
            key += (name, structure.held_token(value) if is_held else given.token(value))
        return given, (policy.current(), *key)

    def _touch(self, key: Any) -> None:
        self._hits += 1
        # Another thread may just have dropped it; the program itself is good.
        with contextlib.suppress(KeyError):
            self._plans.move_to_end(key)

    def _made(
        self, key: Any, args: Any, kwargs: Any, out: Any, given: structure.Given, queue: Any
    ) -> Any:
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                return plan
            self._misses += 1
            plan = noted.trace(
                self.__name__, lambda: self._lowered(args, kwargs, out, given, queue)
            )
            self._plans[key] = plan
            while len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
            return plan

    def _lowered(self, args: Any, kwargs: Any, out: Any, given: structure.Given, queue: Any) -> Any:
        place, stream = place_of(queue)
        held = self._held(args, kwargs)
        try:
            with policy.fallback(self._fallback):
                trace, leaves, form, n_given = traced(
                    self._function, args, kwargs, place.engine, self._dtype,
                    lambda array: id(array) in held,
                )  # fmt: skip
        except NeedsAnotherDevice as lack:
            if self._fallback == "error":
                raise lack.error from None
            return lack
        targets = targets_of(self.__name__, leaves, out, given)
        return Lowered(
            trace, leaves, form, n_given, self._pool, queue, stream, targets, self._extra,
            self._switches,
        )  # fmt: skip

    def _held(self, args: Any, kwargs: Any) -> set[int]:
        """Return the ids of the arrays that arguments named as constants are made of."""
        if not self._constants:
            return set()
        bound = self._signature.bind(*args, **kwargs).arguments
        values = [bound[n] for n in self._constants if n in bound]
        return {id(array) for array in structure.leaves_of(values)}

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
            raise ValueError("bind: arrays must have positive strides")
        plan = self._program(args, kwargs)
        return Bound(plan, given, arguments.shared_queue(given.arrays, self.__name__))

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, number of compiled programs and the most there may be."""
        return CacheInfo(self._hits, self._misses, len(self._plans), self._capacity)

    def clear(self) -> None:
        """Drop all programs and what was computed from constants, which are read anew."""
        with self._lock:
            self._plans.clear()
            self._pool = Pool()
            self._hits = self._misses = 0

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}, {len(self._plans)} programs>"


def _signature(function: Callable[..., Any], constants: tuple[str, ...]) -> inspect.Signature:
    signature = inspect.signature(function)
    for name in constants:
        if name not in signature.parameters:
            raise ValueError(
                f"compile: constants must name parameters of the function, got {name!r}"
            )
    return signature
