# SPDX-License-Identifier: Apache-2.0
"""The programs of a function: one for each kind of arguments, made once, bounded in number."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sycl_dnn.call import arguments, cache
from sycl_dnn.call.arguments import UserCall
from sycl_dnn.call.cache import CacheInfo, Variants, misses_of, specialised
from sycl_dnn.call.captures import Captures, Check, nothing_held
from sycl_dnn.call.capturing import numbered
from sycl_dnn.compiler.constant_values import Pool
from sycl_dnn.compiler.lowering import Lowered, targets_of, traced
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.errors import Unimplemented
from sycl_dnn.program.place import place_of
from sycl_dnn.trace import nested_arguments, policy, profile_notes
from sycl_dnn.trace.allocation import pool_of
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.steps import NeedsAnotherDevice

__all__ = ["Programs"]

_Parameter = inspect.Parameter


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
        owner: Any = None,
    ) -> None:
        self._lowering = lowering
        self._switches = dict(passes or {})
        self._function = function
        #: Of a method: the instance, which its programs do not keep alive.
        self._owner = None if owner is None else weakref.ref(owner)
        self._extra: tuple[Any, ...] = ()
        #: Of a function in a class: what it is compiled to for each instance, by its id.
        self._methods: dict[int, Any] = {}
        self._constants = (constants,) if isinstance(constants, str) else tuple(constants)
        self._signature = _signature(self._subject(), self._constants)
        self._dtype = dtype
        self._capacity = self._most = cache_size
        self._fallback = fallback
        self._plans: OrderedDict[Any, Variants] = OrderedDict()
        self._hits = self._misses = 0
        self._lock = threading.RLock()
        self._pool = Pool()
        functools.update_wrapper(cast("Any", self), function, updated=())
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        cache.watch(self)
        kinds = {self._signature.parameters[name].kind for name in self._constants}
        #: Whether the table of calls can tell constants from other arguments.
        self._is_repeatable = not kinds & {_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD}
        #: Finds programs of repeated calls without Python.
        self._calls = cache.calls.sibling(self._plans.move_to_end, self._constant_arguments())
        self._calls.capacity = cache_size

    def _constant_arguments(self) -> tuple[int | str, ...]:
        """Return numbers and names of the arguments that are constants."""
        names = list(self._signature.parameters)
        return (*self._constants, *(names.index(name) for name in self._constants))

    def _remember(
        self, key: Any, plan: Lowered, args: Any, kwargs: Any, out: Any, stream: Any
    ) -> None:
        """Let calls like this one, which has run, go without Python if they can."""
        if plan.call_plan is None:
            return
        programs, lowered = weakref.ref(self), weakref.ref(plan)

        def guard(_: Any) -> tuple[Any, ...] | None:
            here, there = programs(), lowered()
            if here is None or there is None or there.check is None:
                return None
            return there.check(here._subject(), ())

        self._calls.remember(
            None, policy.current(), args, kwargs, out, key, plan.call_plan, stream,
            pool_of(stream.sycl_queue), None if plan.check is nothing_held else guard,
        )  # fmt: skip

    def _forget_calls(self) -> None:
        """Let go of what the table of calls holds of programs that are dropped."""
        self._hits += self._calls.hits
        self._calls.clear()

    def _subject(self) -> Callable[..., Any]:
        """Return what is called: the function, bound to its instance if it is a method."""
        if self._owner is None:
            return self._function
        return types.MethodType(self._function, self._owner())

    def _key(self, args: Any, kwargs: Any) -> tuple[UserCall, tuple[Any, ...]]:
        call = UserCall(holds_frozen=True)
        try:
            if not self._constants:
                key = [call.token(v) for v in args]
                for name, value in kwargs.items():
                    key += (name, call.token(value))
                return call, (policy.current(), *key)
            bound = self._signature.bind(*args, **kwargs).arguments
            key = []
            for name, value in bound.items():
                is_held = name in self._constants
                key += (name, arguments.held_token(value) if is_held else call.token(value))
        except TypeError as error:
            raise arguments.named(error, self.__name__, self._subject(), args, kwargs) from None
        return call, (policy.current(), *key)

    def _find(self, key: Any, call: UserCall) -> Any:
        """Return the program of a key whose guards hold; None without one."""
        variants = self._plans.get(key)
        if variants is None:
            return None
        found = variants.find(self._subject(), call)
        if found is None:
            return None
        self._hits += 1
        # Another thread may just have dropped it; the program itself is good.
        with contextlib.suppress(KeyError):
            self._plans.move_to_end(key)
        return found.plan

    def _program(self, args: Any, kwargs: Any) -> Lowered:
        plan = self._plan(args, kwargs)
        if not isinstance(plan, Lowered):
            raise RuntimeError(
                f"{self.__name__}: runs operation by operation: the device has no {plan.row}"
            )
        return plan

    def _plan(self, args: Any, kwargs: Any) -> Any:
        """Return the program for a call, made if it is not there."""
        args, kwargs = arguments.all_describable(args, kwargs)
        call, key = self._key(args, kwargs)
        queue = arguments.shared_queue(call.arrays, self.__name__)
        place, _ = place_of(queue)
        return self._made((*key, place), args, kwargs, None, call, queue)

    def _made(self, key: Any, args: Any, kwargs: Any, out: Any, call: UserCall, queue: Any) -> Any:
        with self._lock:
            plan = self._find(key, call)
            if plan is not None:
                return plan
            self._drop_stale(call)
            self._misses += 1
            subject = self._subject()
            misses_of(self).note(self.__name__, arguments.tokens_by_name(subject, args, kwargs))
            known = self._plans.get(key)

            def build(static: frozenset[int]) -> Any:
                return self._lowered(subject, args, kwargs, out, call, queue, static)

            static, (plan, check) = specialised(
                self,
                call.numbers,
                lambda static: profile_notes.trace(self.__name__, lambda: build(static)),
                frozenset() if known is None else known.static,
            )
            variants = self._plans.setdefault(key, Variants())
            variants.add(static, call.numbers, check, plan)
            while len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
                self._forget_calls()
            return plan

    def _drop_stale(self, call: UserCall) -> None:
        """Drop programs made of what the function no longer holds, with the arrays they keep."""
        subject = self._subject()
        dropped = [v.drop_stale(subject, call) for v in self._plans.values()]
        if any(dropped):
            self._forget_calls()
            self._pool = Pool()
            for key in [k for k, v in self._plans.items() if not len(v)]:
                del self._plans[key]

    def _lowered(
        self,
        subject: Callable[..., Any],
        args: Any,
        kwargs: Any,
        out: Any,
        call: UserCall,
        queue: Any,
        static: frozenset[int],
    ) -> tuple[Any, Check]:
        """Return a program, or what the device lacks for one, and the guard of what it holds."""
        place, stream = place_of(queue)
        held = self._held(args, kwargs)
        before = Captures(subject, call.others, by_identity=True).check(())
        trace = CompileTrace(place.engine, self._lowered_to(place.engine))
        # What may be inside is the same on all devices.
        trace.is_lowered = self._dtype is not None
        try:
            with policy.fallback(self._fallback):
                leaves, form, n_given = traced(
                    trace, subject, args, kwargs, lambda array: id(array) in held,
                    self._numbered(call, static),
                )  # fmt: skip
        except NeedsAnotherDevice as lack:
            if self._fallback == "error":
                raise lack.error from None
            return lack, before
        check = before
        if before(subject, call.others) is None:  # it changes what it reads, once
            check = Captures(subject, call.others, by_identity=True).check(())
        targets = targets_of(self.__name__, leaves, out, call)
        lowered = Lowered(
            trace, leaves, form, n_given, self._pool, queue, stream, targets, self._extra,
            self._switches, self._lowering,
        )  # fmt: skip
        lowered.check = check
        trace.end()
        return lowered, check

    def _numbered(self, call: UserCall, static: frozenset[int]) -> Callable[..., Any] | None:
        """Return what puts numbers of the call among the arguments of a trace."""
        if not call.numbers:
            return None

        def placed(trace: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            if not self._constants:
                args, values = numbered(trace, [list(args), list(kwargs.values())], static)
                return args, dict(zip(kwargs, values, strict=True))
            bound = self._signature.bind(*args, **kwargs)
            names = [n for n in bound.arguments if n not in self._constants]
            values = numbered(trace, [bound.arguments[n] for n in names], static)
            bound.arguments.update(zip(names, values, strict=True))
            return bound.args, bound.kwargs

        return placed

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
        return {id(array) for array in nested_arguments.arrays_of(values)}

    def _each_plan(self) -> list[Any]:
        return [plan for variants in list(self._plans.values()) for plan in variants]

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, number of compiled programs and the most kinds there may be."""
        hits = self._hits + self._calls.hits
        return CacheInfo(hits, self._misses, len(self._each_plan()), self._capacity)

    def resize(self, capacity: int) -> None:
        """Keep programs for no more kinds of arguments than this, nor than ``cache_size``."""
        with self._lock:
            self._capacity = min(capacity, self._most)
            while len(self._plans) > capacity:
                self._plans.popitem(last=False)
                self._forget_calls()

    def clear(self) -> None:
        """Drop all programs and what was computed from constants, which are read anew."""
        with self._lock:
            self._plans.clear()
            self._pool = Pool()
            self._forget_calls()
            self._hits = self._misses = 0


def _signature(function: Callable[..., Any], constants: tuple[str, ...]) -> inspect.Signature:
    signature = inspect.signature(function)
    for name in constants:
        if name not in signature.parameters:
            raise ValueError(
                f"compile: constants must name parameters of the function, got {name!r}"
            )
    return signature
