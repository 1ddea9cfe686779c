# SPDX-License-Identifier: Apache-2.0
"""Functions over arrays whose bodies are written over tensors and traced once."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

from sycl_dnn import errors, tree
from sycl_dnn.call import arguments, cache, capturing, torch_keywords
from sycl_dnn.call.arguments import Collected
from sycl_dnn.call.array_views import views
from sycl_dnn.call.autocast import casting
from sycl_dnn.call.complex_arguments import routed
from sycl_dnn.call.cpu_fallback import run_on_cpu
from sycl_dnn.call.double_precision_refusals import answered
from sycl_dnn.call.placed_call import PlacedCall, Plan
from sycl_dnn.call.recorded_tensor import RecordedTensor
from sycl_dnn.call.running_function import RunningFunction
from sycl_dnn.lower.host_sequences import on_host
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.place import Place
from sycl_dnn.program.segments import finalized
from sycl_dnn.trace import layout, nested_arguments, policy
from sycl_dnn.trace.array import Array, Target, check_strides, sharing
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.module_arrays import depths, in_manner, is_building, without_methods
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import NeedsAnotherDevice
from sycl_dnn.trace.torch_methods import VIEWS, alias, unspoilt, written
from sycl_dnn.trace.trace_state import running, running_trace
from sycl_dnn.trace.values import Tensor

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])

_ARRAY = "dpnp.ndarray | Array"
_TENSOR = re.compile(r"\bTensor\b")
_TEXT = """out : dpnp.ndarray or Array, optional
    Array that the result is written to: of the result's shape and dtype, on its queue.
"""
_BEFORE = "\nReturns\n-------"
#: The first line of an entry for parameters.
_PARAMETER = re.compile(r"\*?\w+(, \w+)* : ")


class Function(Protocol[P, R]):
    """A function of ``sycl_dnn.functional``, which also accepts ``out``."""

    operation: Any
    __name__: str
    __doc__: str | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it."""


class _Bare(str):
    """The source of an annotation, shown without quotes."""

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
    """Return an annotation of a body as that of the function: arrays in place of tensors."""
    if not isinstance(annotation, str):
        return annotation
    return _Bare(_TENSOR.sub(_ARRAY, annotation))


def show_arrays(function: Callable[..., Any]) -> None:
    """Annotate a function that is not itself an operation as ``with_out`` does operations."""
    notes = function.__annotations__
    notes.update({name: _bare(note) for name, note in notes.items()})


def describe_out(function: Callable[..., Any]) -> None:
    """Add ``out`` to the parameters in the docstring of a function that accepts it."""
    text = inspect.cleandoc(function.__doc__ or "")
    if text.count(_BEFORE) == 1 and "\nout : " not in text:
        function.__doc__ = text.replace(_BEFORE, _TEXT + _BEFORE)


def sections(body: Callable[..., Any]) -> tuple[str, str]:
    """Return the text of a docstring without headings, and its entries for parameters."""
    paragraphs = inspect.cleandoc(body.__doc__ or "").split("\n\n")
    parameters = [p + "\n" for p in paragraphs if _PARAMETER.match(p)]
    return "\n\n".join(p for p in paragraphs if not _PARAMETER.match(p)), "".join(parameters)


#: The docstring of a function that torch has.
_AS_TORCH = """{summary}

Parameters
----------
{parameters}
Returns
-------
{returns}

Raises
------
TypeError
    {types}
{errors}
Notes
-----
{notes}Source: ``torch.{name}``.
"""
SMOOTH = "Differentiable to any order. "


def templated(template: str, **words: str) -> Callable[[F], F]:
    """Return a decorator that puts the docstring of a function into a template.

    The template has ``{name}``, ``{summary}`` and ``{parameters}``, the ``sections`` of the
    docstring, and the given words.
    """

    def attach(function: F) -> F:
        summary, parameters = sections(function)
        parts = {"name": function.__name__, "summary": summary, "parameters": parameters}
        function.__doc__ = template.format_map(parts | words)
        return function

    return attach


def as_torch(
    name: str, summary: str, parameters: str, *, returns: str, types: str, errors: str = "",
    notes: str = "",
) -> str:  # fmt: skip
    """Return the docstring of a function that torch has, without ValueError if ``errors`` is empty.

    ``types`` says when it raises TypeError.
    """
    return _AS_TORCH.format(
        name=name, summary=summary, parameters=parameters, returns=returns, types=types,
        errors=f"ValueError\n    {errors}\n" if errors else "", notes=notes,
    )  # fmt: skip


def described_as_torch(module: str = "", **words: str) -> Callable[[F], F]:
    """Return a decorator for ``as_torch`` of the ``sections`` of a docstring.

    ``module`` is that of torch with a point, as ``linalg.``.
    """

    def attach(function: F) -> F:
        name = module + function.__name__
        function.__doc__ = as_torch(name, *sections(function), **words)
        return function

    return attach


def named(function: F, name: str, doc: str) -> F:
    """Set the name and the docstring of a generated function."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


# --- Functions over arrays whose bodies are written over tensors and traced once


#: Functions that may return an argument itself, as torch's do; others return a new array.
_RETURNING = VIEWS | {
    "alpha_dropout", "asarray", "astype", "dropout", "dropout1d", "dropout2d", "dropout3d",
    "feature_alpha_dropout", "stop_gradient",
}  # fmt: skip


class Operation:
    """A function of ``sycl_dnn.functional``: its body and how it is called on arrays."""

    #: The function over arrays.
    function: Callable[..., Any]

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body
        self.name = getattr(body, "__name__", type(body).__name__)
        self.is_view = self.name in VIEWS

    @functools.cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the body; importing the package asks for those of none."""
        return inspect.signature(self.body).parameters

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
        """Run the function on arrays; inside a trace, join it."""
        current = policy.current()
        if current.debug_nans:
            from sycl_dnn.call.debugging import checked_for_nans

            return checked_for_nans(self.name, lambda: self(args, kwargs, out), (args, kwargs))
        collected = Collected()
        key: list[Any] = [self, current]
        for value in args:
            key.append(collected.token(value))
        for name in kwargs:
            key.append(name)
            key.append(collected.token(kwargs[name]))
        if collected.traced or isinstance(out, Tensor):
            return self._inline(args, kwargs) if out is None else self._into(args, kwargs, out)
        if not collected.arrays:
            raise arguments.without_array(self.name, self.body, args, kwargs)
        placed = PlacedCall(self.name, collected, out)
        full_key = (*key, *placed.facts)
        plan = cache.plans.get(full_key)
        if plan is None:
            try:
                plan = cache.plans.make(
                    full_key, lambda: self.build(placed.place, args, kwargs, out)
                )
            except NeedsAnotherDevice as cause:
                return run_on_cpu(self, cause, placed.queue, args, kwargs, out)
        result = placed.run(plan)
        placed.remember(cache.plans, self.subject(), args, kwargs, full_key, plan)
        return result

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Run a call that is not in the table of calls."""
        for value in args:
            if value.__class__ is RecordedTensor:
                return value.trace.run(self, args, kwargs, out)
        arrays = without_methods(args)
        has_methods = arrays is not args or (is_building() and args and type(args[0]) is Array)
        if self.is_view and has_methods and out is None:
            result = views(self, arrays, kwargs)
            if result is not NotImplemented:
                return in_manner(result)
        if arrays is not args:  # which the table of calls does not know
            result = cache.plans.calls.call(self.subject(), arrays, kwargs, out)
            if result is not NotImplemented:
                return in_manner(result)
        return self.run(arrays, kwargs, out)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
        """Run a call from scratch."""
        kwargs = torch_keywords.renamed(self.name, self.parameters, args, kwargs)
        return in_manner(self(without_methods(args), kwargs, out))

    def inline(self, args: tuple[Any, ...]) -> Any:
        """Join a trace whose tensors are among the arguments, beside numbers and strings."""
        return in_manner(self._inline(args, {}))

    def repeated(self, *args: Any, **kwargs: Any) -> Any:
        """Run a call of a running function over tensors of its trace."""
        result = running_trace().called(self, args, kwargs)
        if self.name in _RETURNING:
            return result
        return tuple(map(_owned, result)) if result.__class__ is tuple else _owned(result)

    def subject(self) -> tuple[Any, ...]:
        """Return the key of this function in the table of calls."""
        return (self, *policy.SOURCES)

    def build(
        self, place: Place, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None
    ) -> Plan:
        """Trace the body for arguments like these."""
        trace = Trace(place.engine)
        result = self.traced(trace, args, kwargs, out)
        leaves, form = nested_arguments.result_of(result, self.name, trace.capture)
        targets = {} if out is None else {0: self._target(leaves, out, args, kwargs)}
        finals = finalized(trace, leaves, targets, keeps_arguments=self.name in _RETURNING)
        steps = on_host(trace, trace.steps, finals, targets=targets)
        executable = Executable(trace, steps, finals, trace.arguments)
        trace.end()
        return Plan(executable, form)

    def traced(self, trace: Trace, args: Any, kwargs: Any, out: Any = None) -> Any:
        """Return the result of the body over tensors of a trace."""
        args, kwargs = arguments.traced(trace, args, kwargs)
        # A result given by the caller has a dtype already, so nothing is cast to a narrow one.
        uncast = contextlib.nullcontext() if out is None else policy.using(autocast=None)
        try:
            with running(trace), uncast:
                return self.body(*args, **kwargs)
        except AttributeError:
            arguments.check_tensors(self.name, self.body, args, kwargs)
            raise
        except (IndexError, TypeError, ValueError) as error:
            errors.name_function(error, self.name)
            raise

    def _target(self, leaves: list[Tensor], out: Any, args: Any, kwargs: Any) -> Target:
        if len(leaves) != 1:
            raise TypeError(f"{self.name}: out must be omitted where several arrays are returned")
        check_strides(self.name, out)
        tensor = leaves[0]
        check_out(self.name, out, tensor)
        collected = Collected()
        collected.token((args, tuple(kwargs.values())))
        desc = layout.strided(tensor.shape, tensor.dtype, out.get_array().strides)
        return Target(desc, *sharing(out.get_array(), collected.arrays))

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Join the trace that the tensors among the arguments belong to."""
        args, kwargs = capturing.in_arrays(self.name, args, kwargs)
        values = (*args, *kwargs.values())
        if nested_arguments.is_flat(values):
            leaves: Sequence[Any] = values
            trace, args = nested_arguments.trace_of_leaves(values), tuple(args)
        else:
            leaves = tree.leaves(values)
            trace = nested_arguments.trace_of_leaves(leaves)
            swap = trace.capture
            args = tuple([nested_arguments.replaced(a, swap) for a in args])
            kwargs = {n: nested_arguments.replaced(v, swap) for n, v in kwargs.items()}
        for leaf in leaves:
            unspoilt(self.name, leaf)
        result = trace.called(self, args, kwargs)
        if self.name not in _RETURNING:
            if result.__class__ is tuple:
                return tuple([_unshared(v, leaves) for v in result])
            return _unshared(result, leaves)
        return self.as_view(leaves[0], result)

    def _into(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Write the result of a call in a trace to a tensor of the trace."""
        check_traced_out(self.name, out)
        args = tuple([nested_arguments.replaced(a, out.trace.capture) for a in args])
        result = self._inline(args, kwargs)
        if not isinstance(result, Tensor):
            raise TypeError(f"{self.name}: out must be omitted where several arrays are returned")
        check_out(self.name, out, result)
        return written(out, f"{self.name}(out=)", result)

    def as_view(self, source: Any, result: Any) -> Any:
        """Return a result; if it shares memory in torch, writes to it are noted."""
        if self.is_view:
            for leaf in tree.leaves(result):
                alias(source, leaf)
        return result


class UserFunction(Operation):
    """A user's function, which may write to its values."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__(body)
        self.parameters = inspect.signature(body).parameters  # refuses what is not callable

    def traced(self, trace: Trace, args: Any, kwargs: Any, out: Any = None) -> Any:
        """Return the result of the function over tensors of a trace."""
        run = RunningFunction(trace)
        return run.result(self.body, *run.arguments(args, kwargs))


def check_out(name: str, out: Any, result: Any) -> None:
    """Raise ValueError if an array differs in shape or dtype from the result it is to hold."""
    expected, actual = ((tuple(a.shape), str(a.dtype)) for a in (result, out))
    if actual != expected:
        raise ValueError(
            f"{name}: out must have shape {expected[0]} and dtype {expected[1]}, got {actual[0]} "
            f"and {actual[1]}"
        )


def check_traced_out(name: str, out: Any) -> None:
    """Raise TypeError for an array that a traced function cannot write to."""
    if not isinstance(out, Tensor):
        raise TypeError(
            f"{name}: out must be an argument of the function that is traced, or made in it: it "
            "cannot write to arrays that it captures"
        )


def _unshared(value: Any, leaves: Sequence[Any]) -> Any:
    """Return a result that shares no memory with arguments.

    The memory of the caller's arrays may change; other values never do.
    """
    is_shared = value is not None and any(value is leaf for leaf in leaves)
    return clone_of(value) if is_shared else _owned(value)


def _owned(value: Any) -> Any:
    """Return a tensor over the caller's memory as an owned one."""
    is_callers = value.__class__ is Tensor and value.storage.argument is not None
    return clone_of(value) if is_callers else value


def operation(body: Callable[P, R]) -> Function[P, R]:
    """Make a function over arrays of a body over tensors.

    The result takes and returns dpnp arrays, ``Array`` and ``Frozen`` objects, and an ``out``
    array if it returns one; inside a trace it joins that trace.
    """
    self = Operation(routed(casting(answered(body))))
    repeat, subject = cache.plans.calls.call, self.subject()

    @functools.wraps(body)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        is_known = not (depths and self.is_view)  # a repeated call would copy
        result = repeat(subject, args, kwargs, out) if is_known else NotImplemented
        if result is NotImplemented:
            return self._missed(args, kwargs, out)
        return in_manner(result) if depths else result

    function.operation, self.function = self, function  # type: ignore[attr-defined]
    with_out(function, body)
    return function  # type: ignore[return-value]
