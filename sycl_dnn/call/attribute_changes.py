# SPDX-License-Identifier: Apache-2.0
"""Changes of module attributes by a function, applied when its program is submitted."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.call.recorded_calls import Recording
from sycl_dnn.call.running_function import RunningFunction
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.refusals import NeedsArrays
from sycl_dnn.trace.values import Tensor


class Changes:
    """Changes of module attributes by a function; their tensors are additional results.

    Each change has ``module``, ``name``, ``tensors()``, and ``apply(arrays)``, which is called with
    the arrays of all changes' tensors when the function's program has been submitted; ``key`` says
    what it changes, ``copy`` is what the function changed instead.
    """

    def __init__(self, recording: Recording, has_aux: bool) -> None:
        self._changes = _distinct_changes(recording.changes())
        self._has_aux = has_aux
        self._tensors = tuple([t for change in self._changes for t in change.tensors()])

    def __bool__(self) -> bool:
        return bool(self._changes)

    def joined(self, result: Any) -> Any:
        """Return the result of the function with the tensors."""
        if self._has_aux:
            return result[0], (result[1], self._tensors)
        return result, self._tensors

    def done(self, outcome: Any) -> Any:
        """Apply the changes; return the results of the function and its transform without them."""
        if not self._changes:
            return outcome
        (result, rest), pullback = outcome
        if self._has_aux:
            result, rest = (result, rest[0]), rest[1]
        arrays = iter(rest)
        for change in self._changes:
            change.apply(arrays)
        return result, pullback


def _distinct_changes(changes: list[Any]) -> list[Any]:
    """Return one change for each changed attribute.

    Raises ValueError if a function has changed an attribute in two copies of a module.
    """
    by_key: dict[Any, Any] = {}
    for change in changes:
        if by_key.setdefault(change.key, change).copy is not change.copy:
            raise ValueError(
                f"{type(change.module).__name__}.{change.name} must not be changed by a function "
                "that is given the module twice, or is given it and refers to it"
            )
    return list(by_key.values())


def watch(run: RunningFunction, originals: Any, copies: Any) -> None:
    """Let a run watch the modules among nested arguments and their copies over tensors."""
    modules = list(_modules_in(originals))
    for module, copy in zip(modules, _modules_in(copies if modules else ()), strict=True):
        module._runs_as(copy, run)


@contextlib.contextmanager
def watched_inside(run: RunningFunction, originals: Any, copies: Any) -> Iterator[None]:
    """Let an inner function assign attributes of modules among its arguments."""
    n_watched = len(run.watched)
    watch(run, originals, copies)
    inner = run.watched[n_watched:]
    try:
        yield
        for watched in inner:
            watched.hand_on()
    finally:
        for watched in reversed(inner):
            watched.restore()
        # Those that the function has captured itself remain.
        run.watched = [watched for watched in run.watched if watched not in inner]


def _modules_in(values: Any) -> Iterator[Any]:
    """Yield the modules among nested arguments, in order."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _modules_in(value)
        elif isinstance(value, dict):
            yield from _modules_in(value.values())
        elif hasattr(type(value), "_runs_as"):
            yield value


# --- Compiled functions, whose code does not run at each call


class Undeclared(BaseException):
    """A compiled function assigns attributes of which nobody has said whether it reads them.

    It is not an Exception, so that no code of users catches it.
    """

    def __init__(self, changes: Sequence[Any]) -> None:
        super().__init__("a compiled function assigns attributes")
        self._changes = changes

    def retried(self, call: Callable[[], Any], keeps_states: bool) -> Any:
        """Return ``call()``, in which functions are traced that do not read the attributes.

        Where they do, those that hold arrays or None are arguments and results of its program, if
        it ``keeps_states``.
        """
        try:
            with self._declared(False):
                return call()
        except ReadFirst:
            if not keeps_states:
                raise
            with self._declared(True):
                return call()

    @contextlib.contextmanager
    def _declared(self, is_read: bool) -> Iterator[None]:
        with contextlib.ExitStack() as undone:
            for change in self._changes:
                undone.callback(change.declare(is_read))
            yield
            undone.pop_all()


class ReadFirst(NeedsArrays):
    """A compiled function reads an attribute before it assigns it."""


class _Place(NamedTuple):
    """An attribute that a compiled function assigns.

    The module is a part of a module among the arguments, by number, or else a captured one.
    """

    argument: int
    part: int
    captured: Any
    name: str
    #: Form of the value, and number of arrays in it.
    form: nested_arguments.Form
    n_arrays: int
    #: What holds the value, as ``Change.group``.
    group: str


class AssignedAttributes:
    """Attributes of modules that a compiled function assigns: results of its program.

    ``run``: the function has returned; ``arguments``: those of the call. Raises NeedsArrays if the
    function changed something else, or assigned something other than arrays and constants, and
    Undeclared if it may have read one of the attributes before.
    """

    def __init__(self, run: RunningFunction, arguments: Sequence[Any]) -> None:
        changes = _distinct_changes(run.changes())
        for change in changes:
            change.check_compiled()
        undeclared = [change for change in changes if not change.is_declared()]
        if undeclared:
            raise Undeclared(undeclared)
        modules = list(_modules_in(arguments))
        self._places = [_place_of(change, modules) for change in changes]
        leaves = [leaf for change in changes for leaf in tree.leaves(change.value)]
        self._tensors = tuple([leaf for leaf in leaves if isinstance(leaf, Tensor)])

    def __bool__(self) -> bool:
        return bool(self._places)

    def joined(self, result: Any) -> Any:
        """Return the result of the function with the tensors."""
        return (result, self._tensors) if self._places else result

    def done(self, outcome: Any, arguments: Sequence[Any]) -> Any:
        """Assign the attributes after a call; return the result of the function."""
        result, arrays = outcome
        supply, modules = iter(arrays), list(_modules_in(arguments))
        for place in self._places:
            owner = place.captured() if place.captured else modules[place.argument]
            own = [next(supply) for _ in range(place.n_arrays)]
            owner._set_returned(place.part, place.name, place.form.build(own), place.group)
        return result


def _place_of(change: Any, modules: Sequence[Any]) -> _Place:
    leaves, structure = tree.flatten(change.value)
    others = [nested_arguments.ARRAY if isinstance(v, Tensor) else v for v in leaves]
    form = nested_arguments.Form(structure, others)
    rest = (change.name, form, others.count(nested_arguments.ARRAY), change.group)
    for number, module in enumerate(modules):
        part = change.part_of(module)
        if part is not None:
            return _Place(number, part, None, *rest)
    change.check_captured()
    return _Place(-1, 0, weakref.ref(change.module), *rest)
