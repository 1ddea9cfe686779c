# SPDX-License-Identifier: Apache-2.0
"""The programs of a function: one for each kind of arguments, made once, bounded in number."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sycl_dnn.compiler import structure
from sycl_dnn.compiler.constants import Pool
from sycl_dnn.compiler.lowering import Lowered, traced
from sycl_dnn.compiler.targets import targets_of
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.dispatch import arguments, noted, policy
from sycl_dnn.dispatch.cache import CacheInfo
from sycl_dnn.dispatch.capabilities import multiplies
from sycl_dnn.dispatch.places import place_of
from sycl_dnn.dispatch.record import NeedsAnotherDevice
from sycl_dnn.errors import Unimplemented

__all__ = ["Programs"]


class Programs:
    """A function, and what it was compiled to so far; ``Compiled`` runs it."""

    def __init__(
        self,
        function: Callable[..., Any],
        constants: Sequence[str] = (),
        dtype: str | None = None,
        cache_size: int = 64,
        fallback: str = "auto",
        passes: Mapping[str, bool] | None = None,
        lowering: str = "primitives",
    ) -> None:
        self._lowering = lowering
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
        functools.update_wrapper(cast("Any", self), function, updated=())
        self.__name__ = getattr(function, "__name__", type(function).__name__)

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
                trace = CompileTrace(place.engine, self._lowered_to(place.engine))
                # What may be inside is the same on all devices.
                trace.is_lowered = self._dtype is not None
                leaves, form, n_given = traced(
                    trace, self._function, args, kwargs, lambda array: id(array) in held
                )
        except NeedsAnotherDevice as lack:
            if self._fallback == "error":
                raise lack.error from None
            return lack
        targets = targets_of(self.__name__, leaves, out, given)
        return Lowered(
            trace, leaves, form, n_given, self._pool, queue, stream, targets, self._extra,
            self._switches, self._lowering,
        )  # fmt: skip

    def _lowered_to(self, engine: Any) -> str | None:
        """Return the dtype of the program: float32 where the engine cannot multiply another."""
        dtype = self._dtype
        if dtype is None or multiplies(engine, dtype):
            return dtype
        lack = f"{self.__name__}: {engine.sycl_device.name} has no arithmetic of {dtype}"
        if self._fallback == "error":
            raise Unimplemented(f"{lack}; compile without dtype computes in float32")
        policy.warn_once(
            policy.FallbackWarning,
            (self.__name__, dtype),
            f"{lack}; it computes in float32 (compile(fallback='error') refuses instead)",
        )
        return None

    def _held(self, args: Any, kwargs: Any) -> set[int]:
        """Return the ids of the arrays that arguments named as constants are made of."""
        if not self._constants:
            return set()
        bound = self._signature.bind(*args, **kwargs).arguments
        values = [bound[n] for n in self._constants if n in bound]
        return {id(array) for array in structure.leaves_of(values)}

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, number of compiled programs and the most there may be."""
        return CacheInfo(self._hits, self._misses, len(self._plans), self._capacity)

    def clear(self) -> None:
        """Drop all programs and what was computed from constants, which are read anew."""
        with self._lock:
            self._plans.clear()
            self._pool = Pool()
            self._hits = self._misses = 0


def _signature(function: Callable[..., Any], constants: tuple[str, ...]) -> inspect.Signature:
    signature = inspect.signature(function)
    for name in constants:
        if name not in signature.parameters:
            raise ValueError(
                f"compile: constants must name parameters of the function, got {name!r}"
            )
    return signature
