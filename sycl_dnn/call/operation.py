# SPDX-License-Identifier: Apache-2.0
"""Functions over arrays whose bodies are written over tensors and traced once."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, Protocol, TypeVar

from sycl_dnn import _core
from sycl_dnn.call import arguments, cache, capturing
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.autocast import casting
from sycl_dnn.onednn import dtypes
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.place import Place, place_of
from sycl_dnn.program.segments import finalized
from sycl_dnn.trace import allocation, layout, nested_arguments, policy
from sycl_dnn.trace.allocation import pool_of
from sycl_dnn.trace.array import Array, Target, check_out, check_strides, sharing
from sycl_dnn.trace.frozen import Frozen, Seed
from sycl_dnn.trace.nested_arguments import Form
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import NeedsAnotherDevice
from sycl_dnn.trace.values import Tensor

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_ARRAY = "dpnp.ndarray | Array"
_TEXT = """out : dpnp.ndarray or Array, optional
    Array that the result is written to: of the result's shape and dtype, on its queue.
"""
_BEFORE = "\nReturns\n-------"


class Function(Protocol[P, R]):
    """A function of ``sycl_dnn.functional``, which takes ``out`` as well."""

    operation: Any
    __name__: str
    __doc__: str | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""


class _Bare(str):
    """The text of an annotation, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def takes_out(signature: inspect.Signature) -> bool:
    """Whether a function with this signature returns an array that may be given as ``out``."""
    returned = str(signature.return_annotation)
    return not returned.startswith(("tuple", "list", "QuantizedTensor"))


def with_out(function: Callable[..., Any], body: Callable[..., Any]) -> None:
    """Give ``function`` the signature and text of ``body``, ``out`` among its parameters."""
    signature = inspect.signature(body)
    parameters = [p for p in signature.parameters.values() if p.name != "_stacklevel"]
    if takes_out(signature) and "out" not in signature.parameters:
        kind = inspect.Parameter.KEYWORD_ONLY
        out = inspect.Parameter("out", kind, default=None, annotation=f"{_ARRAY} | None")
        at = len(parameters) - (bool(parameters) and parameters[-1].kind is out.VAR_KEYWORD)
        parameters.insert(at, out)
        describe_out(function)
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(annotation=_bare(p.annotation)) for p in parameters],
        return_annotation=_bare(signature.return_annotation),
    )


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def describe_out(function: Callable[..., Any]) -> None:
    """Add ``out`` to the parameters in the text of a function that takes it."""
    text = inspect.cleandoc(function.__doc__ or "")
    if text.count(_BEFORE) == 1 and "\nout : " not in text:
        function.__doc__ = text.replace(_BEFORE, _TEXT + _BEFORE)


# --- What ``_core.CallTable`` needs of a traced function, to repeat its calls without Python


class _Result:
    """Stands for the result of a number where results are nested."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def is_in_order(arrays: list[Any], args: Any, kwargs: Any) -> bool:
    """Whether these are the arrays of a call in the order in which the table finds them.

    Trees take dicts by sorted keys, the table as they are; what it told apart stays so.
    """
    found = list(_arrays((args, kwargs)))
    return len(found) == len(arrays) and all(map(operator.is_, found, arrays))


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)
    elif hasattr(value, "get_array") and not isinstance(value, Frozen):
        yield value.get_array()


def call_plan_of(executable: Executable, results: Form) -> _core.CallPlan | None:
    """Return the plan for an executable; None where a call needs Python.

    Parameters
    ----------
    executable : Executable
    results : Form
        How what the function returns is nested.
    """
    only, slots = executable.only_segment, executable.constants.slots
    if only is None or slots is None or not executable.is_given_or_captured():
        return None
    numbers = [_Result(i) for i in range(len(executable.results))]
    form = _form(executable, results.build(numbers))
    if form is None or any(isinstance(value, Seed) for _, value, _ in executable.captured):
        return None
    frozen = {index: value for index, value, _ in executable.captured if isinstance(value, Frozen)}
    constants = [(*slot, frozen.get(slot[-1])) for slot in slots]
    held = [(executable.register(t.storage), value) for _, value, t in executable.captured]
    blanks = [(r, b.nbytes, b.shape, b.strides, b.dtype) for r, b in executable.blanks]
    return _core.CallPlan(
        only.program, only.reads, executable.n_registers, blanks, constants, held, form
    )


def _form(executable: Executable, value: Any) -> tuple[Any, ...] | None:
    """Return the row of ``CallPlan`` for a part of the results; None where it has none."""
    if isinstance(value, _Result):
        return _array(executable, value.number)
    if type(value) is dict:
        return _items(executable, ("dict", tuple(value)), value.values())
    kind = type(value)
    if kind is tuple or kind is list:
        return _items(executable, (kind.__name__,), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _items(executable, ("made", kind), value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return ("object", value)
    return None


def _items(executable: Executable, start: tuple[Any, ...], values: Any) -> tuple[Any, ...] | None:
    rows = [_form(executable, value) for value in values]
    return None if None in rows else (*start, rows)


def _array(executable: Executable, number: int) -> tuple[Any, ...]:
    register, dtype = executable.results[number], executable.result_dtypes[number]
    if register < executable.n_given:
        return ("given", register)
    return ("array", register, dtype if dtype in dtypes.CARRIED else None)


# --- Functions over arrays whose bodies are written over tensors and traced once


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
        leaves, form = nested_arguments.result_of(result, self.name, trace.capture)
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
        args, kwargs = capturing.in_arrays(self.name, args, kwargs)
        trace = nested_arguments.trace_of((args, tuple(kwargs.values())))
        swap = trace.capture
        swapped = [nested_arguments.replaced(a, swap) for a in args]
        named = {n: nested_arguments.replaced(v, swap) for n, v in kwargs.items()}
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
        from sycl_dnn.call.cpu_fallback import run_on_cpu

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
