# SPDX-License-Identifier: Apache-2.0
"""The cached programs of a function, one per signature."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sycl_dnn._dpnp import usm_array
from sycl_dnn.call import arguments, cache
from sycl_dnn.call.arguments import Collected, UserCall
from sycl_dnn.call.attribute_changes import Undeclared
from sycl_dnn.call.cache import CacheInfo, Plans, misses_of, specialised
from sycl_dnn.call.captures import Captures, Check
from sycl_dnn.call.capturing import numbered
from sycl_dnn.call.paused_collection import paused_collection
from sycl_dnn.call.placed_call import PlacedCall
from sycl_dnn.compiler import kept_programs
from sycl_dnn.compiler.constant_values import Pool
from sycl_dnn.compiler.kept_graphs import Rewritten
from sycl_dnn.compiler.lowering import Held, Lowered, rewritten, targets_of, traced
from sycl_dnn.compiler.tracing import CompileTrace, UpdatesCaptured
from sycl_dnn.errors import Unimplemented
from sycl_dnn.program.donation import are_alone
from sycl_dnn.trace import nested_arguments, policy, profile_notes
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.refusals import NeedsTape
from sycl_dnn.trace.replay import Replays
from sycl_dnn.trace.steps import NeedsAnotherDevice

__all__ = ["Programs"]


class Programs:
    """A function and its compiled programs; ``Compiled`` runs it."""

    #: Whether it may read attributes of modules that it assigns.
    keeps_states = True

    def __init__(
        self,
        function: Callable[..., Any],
        constants: Sequence[str] = (),
        dtype: str | None = None,
        cache_size: int = 64,
        fallback: str = "auto",
        passes: Mapping[str, bool] | None = None,
        lowering: str = "primitives",
        donate: Sequence[str] = (),
        owner: Any = None,
    ) -> None:
        self._lowering = lowering
        self._switches = dict(passes or {})
        self._function = function
        #: For a method: a weak reference to the instance.
        self._owner = None if owner is None else weakref.ref(owner)
        self._extra: tuple[Any, ...] = ()
        #: For a function in a class: the compiled method of each instance, by id.
        self._methods: dict[int, Any] = {}
        #: The version without ``donate``, if it was needed.
        self._other: Any = None
        self._constants = (constants,) if isinstance(constants, str) else tuple(constants)
        self._donated = (donate,) if isinstance(donate, str) else tuple(donate)
        self._signature = _signature(self.subject, self._constants, self._donated)
        self._dtype = dtype
        self._most = cache_size
        self._fallback = fallback
        self._pool = Pool()
        self._replays = Replays()
        #: Addresses of captured arrays that the function updates.
        self._updated: set[int] = set()
        #: Captured arrays of the last stored program, with what it contains in their place.
        self._contents: dict[int, Any] = {}
        functools.update_wrapper(cast("Any", self), function, updated=())
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        cache.watch(self)
        calls = cache.plans.calls.sibling(self._constant_arguments())
        self._plans = Plans(cache_size, calls)
        self._repeat = calls.call

    def _constant_arguments(self) -> tuple[int | str, ...]:
        """Positions and names of constant arguments."""
        names = list(self._signature.parameters)
        return (*self._constants, *(names.index(name) for name in self._constants))

    @property
    def subject(self) -> Callable[..., Any]:
        """The function to call, bound to its instance if it is a method."""
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
            raise arguments.named(error, self.__name__, self.subject, args, kwargs) from None
        return call, (policy.current(), *key)

    def _placed(self, args: Any, kwargs: Any) -> tuple[PlacedCall, tuple[Any, ...]]:
        """Return a call before it runs, and its program key."""
        call, key = self._key(args, kwargs)
        placed = PlacedCall(self.__name__, call)
        return placed, (*key, *placed.facts)

    def _program(self, args: Any, kwargs: Any) -> Lowered:
        plan = self._plan(args, kwargs)
        if not isinstance(plan, Lowered):
            raise RuntimeError(
                f"{self.__name__}: runs operation by operation: the device has no {plan.row}"
            )
        return plan

    def _plan(self, args: Any, kwargs: Any) -> Any:
        """Return the program for a call, compiling if necessary."""
        placed, key = self._placed(args, kwargs)
        try:
            return self._plan_for(key, placed, args, kwargs)
        except Undeclared as attributes:
            return attributes.retried(lambda: self._plan(args, kwargs), self.keeps_states)

    def _plan_for(self, key: Any, placed: PlacedCall, args: Any, kwargs: Any) -> Any:
        """Return the program for a call; a donating one if its arrays may be overwritten."""
        # A program knows a donated argument by its place, which an array in two of them hides.
        if self._donated and placed.out is None and _are_distinct(placed.call.arrays):
            plan = self._made((*key, "donate"), placed, args, kwargs, donates=True)
            if not isinstance(plan, Lowered):
                return plan
            if are_alone(plan.arrays(placed), plan.executable.overwritten, plan.held_spans):
                return plan
        return self._made(key, placed, args, kwargs)

    def _made(
        self, key: Any, placed: PlacedCall, args: Any, kwargs: Any, donates: bool = False
    ) -> Any:
        call = placed.call
        plan = self._plans.find(key, call)
        if plan is not None:
            return plan
        with self._plans.lock:
            plan = self._plans.find(key, call)
            if plan is not None:
                return plan
            if self._plans.drop_stale():  # with the arrays that the function no longer uses
                self._pool, self._contents = Pool(), {}
            subject = self.subject
            misses_of(self).note(self.__name__, arguments.tokens_by_name(subject, args, kwargs))

            def lowered(static: frozenset[int]) -> tuple[Any, Check]:
                return self._lowered(subject, args, kwargs, placed, static, donates)

            with paused_collection():
                static, (plan, check) = specialised(
                    self,
                    call.numbers,
                    lambda static: profile_notes.trace(self.__name__, lambda: lowered(static)),
                    self._plans.static_of(key),
                )
            self._plans.keep(key, static, call.numbers, check, plan)
            return plan

    def _lowered(
        self,
        subject: Callable[..., Any],
        args: Any,
        kwargs: Any,
        placed: PlacedCall,
        static: frozenset[int],
        donates: bool,
        training: bool = False,
    ) -> tuple[Any, Check]:
        """Return a program, or the missing device feature, and the guard of its values.

        ``training`` is whether the function asks for gradients of what it has done so far.
        """
        settings = subject, args, kwargs, placed, static, donates
        place, call = placed.place, placed.call
        donated_arrays = self._named(self._donated, args, kwargs) if donates else []
        donated_ids = {id(usm_array(array)) for array in donated_arrays}
        donated = [i for i, array in enumerate(call.arrays) if id(array) in donated_ids]
        args, kwargs = self._in_order(args, kwargs)
        trace = CompileTrace(
            place.engine, self._lowered_to(place.engine), self._replays, self._updated
        )
        # The contents must not depend on the device.
        trace.is_lowered, trace.training = self._dtype is not None, training
        before = Captures(subject, call.others)
        before.read_once.check(self.__name__)
        try:
            draws = before.read_once.without_draws(self.__name__)
            with policy.fallback(self._fallback), draws:
                program_graph, targets, assigned = self._rewritten(
                    trace, subject, args, kwargs, placed, static
                )
            captured = [value for _, value, _ in trace.captured]
            lowered = Lowered(
                trace, program_graph, self._pool, placed.queue, placed.stream, targets, donated,
                assigned,
            )  # fmt: skip
        except NeedsTape:
            if training:
                raise
            return self._lowered(*settings, training=True)
        except UpdatesCaptured:
            self._updated |= trace.missed
            return self._lowered(*settings, training)
        except NeedsAnotherDevice as lack:
            if self._fallback == "error":
                raise lack.error from None
            return lack, Captures(subject, call.others)
        before.read_once.warn_of_changes(self.__name__, before.changed_numbers())
        # A program whose arrays another thread replaced while it was made is for this call only.
        is_same = before.has_same_arrays()
        are_unwritten = self._pool.sources.are_unwritten if is_same else lambda: False
        lowered.check = Captures(subject, call.others, are_unwritten)
        lowered.check.watch(captured, self._pool.sources)
        trace.end()
        return lowered, lowered.check

    def _rewritten(
        self, trace: CompileTrace, subject: Any, args: Any, kwargs: Any, placed: PlacedCall,
        static: frozenset[int],
    ) -> tuple[Rewritten, dict[int, Any] | None, Any]:  # fmt: skip
        """Return a function after all passes, a caller's destinations, and assigned attributes."""
        is_plain = placed.out is None and not (self._donated or self._extra or self._constants)
        settings = self._dtype, self._lowering, self._fallback, sorted(self._switches.items())
        stored = kept_programs.Kept(
            subject if is_plain else None, placed.queue, args, kwargs, settings, self._contents
        )
        rewritten_graph = stored.load(trace)
        if rewritten_graph is not None:
            return rewritten_graph, None, None
        call = placed.call
        leaves, form, n_given, assigned = traced(
            trace, subject, args, kwargs, self._numbered(call, static)
        )
        if trace.missed:
            raise UpdatesCaptured
        if assigned and placed.out is not None:
            raise TypeError(f"{self.__name__}: out must be omitted as it assigns attributes")
        targets = targets_of(self.__name__, leaves, placed.out, call)
        rewritten_graph = rewritten(
            trace, leaves, form, n_given, placed.queue, placed.stream, targets, self._extra,
            self._switches, self._lowering,
        )  # fmt: skip
        if not assigned:
            stored.keep(trace, rewritten_graph)
        return rewritten_graph, targets, assigned

    def _in_order(self, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Return arguments in the order of the call's key, with the constants in ``Held``."""
        if not self._constants:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD and name in bound.arguments:
                keywords = bound.arguments[name]
                bound.arguments[name] = {key: keywords[key] for key in sorted(keywords)}
        for name in bound.arguments.keys() & set(self._constants):
            bound.arguments[name] = nested_arguments.replaced(bound.arguments[name], Held)
        return bound.args, bound.kwargs

    def _numbered(self, call: Collected, static: frozenset[int]) -> Callable[..., Any] | None:
        """Return a function that inserts numbers of the call into the arguments of a trace."""
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
        """Return the compute dtype: float32 if the engine does not support the requested one."""
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

    def _named(self, names: Sequence[str], args: Any, kwargs: Any) -> Sequence[Any]:
        """Return the arrays in the arguments with these names."""
        if not names:
            return []
        bound = self._signature.bind(*args, **kwargs).arguments
        values = [bound[n] for n in names if n in bound]
        return nested_arguments.arrays_of(values)

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, current number of programs and maximum number of signatures."""
        return self._plans.info()

    def resize(self, capacity: int) -> None:
        """Set the maximum number of signatures, up to ``cache_size``."""
        self._plans.resize(min(capacity, self._most))

    def clear(self) -> None:
        """Drop all programs and values computed from constants, which will be read again."""
        with self._plans.lock:
            self._plans.clear()
            self._pool = Pool()
            self._replays = Replays()
            self._contents = {}


def _are_distinct(arrays: Sequence[Any]) -> bool:
    return len({id(array) for array in arrays}) == len(arrays)


def _signature(
    function: Callable[..., Any], constants: tuple[str, ...], donated: tuple[str, ...]
) -> inspect.Signature:
    signature = inspect.signature(function)
    for argument, names in (("constants", constants), ("donate", donated)):
        for name in names:
            if name not in signature.parameters:
                raise ValueError(
                    f"compile: {argument} must name parameters of the function, got {name!r}"
                )
    for name in donated:
        if name in constants:
            raise ValueError(f"compile: donate must not name constants, got {name!r}")
    return signature
