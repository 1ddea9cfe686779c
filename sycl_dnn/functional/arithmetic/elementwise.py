# SPDX-License-Identifier: Apache-2.0
"""Shared parts of element-wise functions, and unary ones: neg, exp, log, sqrt, ..."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.call.operation import SMOOTH, as_torch, describe_out, named, operation, sections
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import (
    by_nodes,
    check_arrays,
    checked_array,
    checked_operands,
    float_dtype,
    of_integers,
    result_dtype,
)
from sycl_dnn.ir.node import OPERATIONS, Node
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.appendable import Eltwise, applied
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import array_writes
from sycl_dnn.trace.pointwise import NO_SHIFT, eltwise
from sycl_dnn.trace.torch_methods import is_torch, overwritten
from sycl_dnn.trace.values import Tensor

_BEFORE = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    Any shape; {dtypes}.
{parameters}"""
_INPLACE = """inplace : bool
    Write the result into ``input`` and return that. In a traced function the input, and tensors
    that share its memory, stand for the result from then on.
"""
_AFTER = """
Returns
-------
dpnp.ndarray or Array (*)
    Shape, dtype and order of axes of ``input``.

Raises
------
TypeError
    The dtype is not one of these.
ValueError
    A parameter is out of range.

Notes
-----
Source: oneDNN developer guide, "Eltwise"{page}; names and defaults are torch.nn.functional's.
"""
_FLOATS = "float32, bfloat16 or float16; float64 if the device supports it"
#: How a function treats integers, for docstrings.
_INTEGERS = {"": "", "kept": ", integers", "float32": ", integers, which become float32"}


def check_float(name: str, **tensors: Tensor | None) -> None:
    """Raise TypeError for the first named argument that is no array of floating-point numbers."""
    check_arrays(name, **{n: tensor for n, tensor in tensors.items() if tensor is not None})
    for argument, tensor in tensors.items():
        if tensor is not None and not tensor.is_float:
            raise TypeError(
                f"{name}: {argument} must have a floating-point dtype, got {tensor.dtype}"
            )


def is_integer(x: Any) -> bool:
    """Whether a tensor has integers that kernels compute, which are not bools."""
    return isinstance(x, Tensor) and not x.is_float and x.dtype in REGISTERS and x.dtype != "bool"


def floating(name: str, x: Tensor) -> Tensor:
    """Return a tensor of real numbers, in float32 if they are integers or bools."""
    if is_integer(x) or getattr(x, "dtype", "") == "bool":
        return converted(x, "float32")
    check_float(name, input=x)
    return x


def check_same_dtype(name: str, first: str, second: str, a: Tensor, b: Tensor) -> None:
    """Raise TypeError if two operands differ in dtype."""
    if a.dtype != b.dtype:
        raise TypeError(
            f"{name}: {second} must have the dtype of {first}, {a.dtype}, got {b.dtype}"
        )


def check_same_shape(name: str, first: str, second: str, a: Tensor, b: Tensor) -> None:
    """Raise ValueError if two operands differ in shape."""
    if a.shape != b.shape:
        raise ValueError(
            f"{name}: {second} must have the shape of {first}, {a.shape}, got {b.shape}"
        )


def refuse_inplace(name: str, inplace: Any) -> None:
    """Raise ValueError if a traced function would write into its input."""
    if inplace:
        raise ValueError(f"{name}: inplace must be False in a traced function, got {inplace!r}")


def inplace_into_out(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Return ``function`` with ``inplace=True`` (argument ``position``) implemented by ``out``.

    In a module's forward and in traced functions the input stands for the result.
    """
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        inplace = args[position] if len(args) > position else kwargs.get("inplace", False)
        if not inplace:
            return function(*args, out=out, **kwargs)
        if out is not None:
            raise ValueError(f"{name}: out must be omitted with inplace=True")
        target = args[0] if args else kwargs["input"]
        positional = args[:position] + (False,) * (len(args) > position) + args[position + 1 :]
        keywords = {k: v for k, v in kwargs.items() if k != "inplace"}
        if is_torch() or isinstance(target, Tensor):
            return overwritten(target, name, function(*positional, **keywords))
        return written_over(target, functools.partial(function, *positional, **keywords))

    return call


def written_over(target: Any, call: Callable[..., Any]) -> Any:
    """Return an array that is passed as ``out``, or assigned to if its strides are negative."""
    if all(step >= 0 for step in getattr(target, "strides", ())):
        return call(out=target)
    array_writes.assign(target, call())
    return target


def pointwise(
    body: Callable[..., Tensor] | None = None, *, integers: str = "", page: str = ""
) -> Callable[..., Any]:
    """Make a public function from an element-wise body over one tensor and parameters.

    The docstring consists of a summary, and optionally text and parameter entries. ``integers``:
    "kept", or the dtype that they become if they are accepted. ``page``: appended to the source.
    """
    if body is None:
        return functools.partial(pointwise, integers=integers, page=page)
    name = body.__name__
    names = list(inspect.signature(body).parameters)
    position = names.index("inplace") if "inplace" in names else None

    @functools.wraps(body)
    def checked(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if integers == "float32":
            input = floating(name, input)
        elif integers != "kept" or not is_integer(input):
            check_float(name, input=input)
        if position is not None:  # As called by the transforms.
            inplace = args[position - 1] if len(args) >= position else kwargs.get("inplace")
            refuse_inplace(name, inplace)
        return body(input, *args, **kwargs)

    function: Callable[..., Any] = operation(checked)
    if position is not None:
        function = inplace_into_out(function, position)
    function.__doc__ = _text(body, position is not None, integers, page)
    describe_out(function)
    return function


def _text(body: Callable[..., Any], has_inplace: bool, integers: str, page: str) -> str:
    summary, parameters = sections(body)
    if has_inplace:
        parameters += _INPLACE
    accepted = _FLOATS + _INTEGERS[integers]
    before = _BEFORE.format(summary=summary, dtypes=accepted, parameters=parameters)
    return before + _AFTER.format(page=page)


# --- Elementary unary functions: neg, exp, log, sqrt, abs, square, reciprocal

A = algorithm
#: Functions for which oneDNN differs from PyTorch at NaN or denormal numbers.
_OF_NODES = ("exp", "abs", "log")
#: The docstring of a function of one operand.
UNARY = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    Any shape and dtype.

Returns
-------
dpnp.ndarray or Array (*)
    {returns}.

Raises
------
TypeError
    ``input`` is not an array, or one of 4-bit numbers.

Notes
-----
{notes}

Source: {source}.
"""


_SMOOTH = f"bfloat16 and float16 are computed in float32. {SMOOTH}"


def of_one(
    name: str, summary: str, definition: Callable[[Node], Node], only_floats: bool = False
) -> Any:
    """Make a function of one array from a definition by nodes."""

    def call(input: Tensor) -> Tensor:
        x = checked_array(name, "input", input)
        if only_floats:
            check_float(name, input=x)
        return by_nodes(definition, x, dtype=float_dtype(x))

    kind = "Floating point" if only_floats else "Any real dtype"
    doc = as_torch(
        name, summary, f"input : array (*)\n    {kind}.\n", notes=_SMOOTH,
        returns=f"array (*)\n    Its dtype{'' if only_floats else ', float32 for integers'}.",
        types=f"The dtype is {'not floating point' if only_floats else 'complex'}.",
    )  # fmt: skip
    return operation(named(call, name, doc))


def of_two(
    name: str, summary: str, definition: Callable[[Node, Node], Node], *,
    exact: Callable[..., Any] | None = None, only_floats: bool = False, notes: str = _SMOOTH,
) -> Any:  # fmt: skip
    """Make a function of two operands from a definition by nodes; ``exact``: that of integers."""

    def call(input: Tensor | float, other: Tensor | float) -> Tensor:
        a, b = checked_operands(name, input=input, other=other)
        dtype = result_dtype(a, b)
        if only_floats and not dtypes.is_float(dtype):
            raise TypeError(f"{name}: input and other must not both be integers, got {dtype}")
        if exact is not None and not dtypes.is_float(dtype):
            return exact(a, b)
        return by_nodes(definition, a, b, dtype=float_dtype(a, b))

    end = "" if exact or only_floats else ", float32 for integers"
    doc = as_torch(
        name, summary, "input, other : arrays (*), or one a number\n    Shapes broadcast.\n",
        notes=notes, returns=f"array (*)\n    torch's promoted dtype{end}.",
        types=f"A dtype is complex{', or both are of integers' if only_floats else ''}.",
        errors="The shapes do not broadcast.",
    )  # fmt: skip
    return operation(named(call, name, doc))


def _function(
    name: str,
    summary: str,
    kind: algorithm,
    factors: tuple[float, float] = (0.0, 0.0),
    keeps_integers: bool = False,
    note: str = "",
) -> Callable[..., Any]:
    """Make a function from an eltwise algorithm; others convert integers to float32."""

    def call(input: Tensor) -> Tensor:
        input = checked_array(name, "input", input)
        if input.is_float:
            if name in _OF_NODES:
                return applied(OPERATIONS[name], input, Eltwise(kind, *factors))
            return eltwise(input, kind, *factors)
        if name == "neg" and input.dtype == "bool":
            raise TypeError("neg: input must not be bool")
        if name == "square" and input.dtype == "bool":
            input = converted(input, "int64")
        if not keeps_integers:
            return eltwise(converted(input, "float32"), kind, *factors)
        return of_integers(OPERATIONS[name], str(input.dtype), input)

    dtype = "its dtype" if keeps_integers else "its dtype, float32 for integers"
    treated = "computed exactly" if keeps_integers else "converted"
    doc = UNARY.format(
        summary=summary,
        returns=f"Shape and order of axes of ``input``; {dtype}",
        notes=note or f"Integers are {treated}.",
        source='oneDNN developer guide, "Eltwise"',
    )
    return operation(named(call, name, doc))


neg = _function("neg", "Return ``-input``.", A.eltwise_linear, (-1.0, NO_SHIFT), True)
exp = _function("exp", "Return e to the power of ``input``.", A.eltwise_exp)
log = _function("log", "Return the natural logarithm.", A.eltwise_log)
sqrt = _function("sqrt", "Return the square root.", A.eltwise_sqrt)
abs = _function("abs", "Return ``|input|``.", A.eltwise_abs, keeps_integers=True)
square = _function("square", "Return ``input * input``.", A.eltwise_square, keeps_integers=True)
reciprocal = _function("reciprocal", "Return ``1 / input``.", A.eltwise_pow, (1.0, -1.0))
