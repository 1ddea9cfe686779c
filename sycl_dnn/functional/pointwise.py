# SPDX-License-Identifier: Apache-2.0
"""What element-wise functions share: dtypes, ``inplace``, the common part of their text."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.pointwise import eltwise
from sycl_dnn.dispatch.signature import describe_out
from sycl_dnn.dispatch.tensor import Tensor

__all__ = ["check_float", "eltwise", "inplace_into_out", "pointwise", "refuse_inplace"]

_BEFORE = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    Any shape; {dtypes}.
{parameters}"""
_INPLACE = """inplace : bool
    Write the result into ``input`` and return that. Not in traced functions.
"""
_AFTER = """
Returns
-------
dpnp.ndarray or Array (*)
    Shape, dtype and order of axes of ``input``.

Raises
------
TypeError
    The dtype is another one.
ValueError
    A parameter is out of its range.

Notes
-----
Source: oneDNN developer guide, "Eltwise"{page}; names and defaults are torch.nn.functional's.
"""
_FLOATS = "float32, bfloat16 or float16, float64 where the device has it"
_INTEGERS = ("int32", "int8", "uint8")


def check_float(name: str, **tensors: Tensor | None) -> None:
    """Raise TypeError for the first of the named tensors that is not floating-point."""
    for argument, tensor in tensors.items():
        if tensor is not None and not tensor.is_float:
            raise TypeError(
                f"{name}: {argument} must have a floating-point dtype, got {tensor.dtype}"
            )


def refuse_inplace(name: str, inplace: Any) -> None:
    """Raise ValueError if a traced function is to write into its input."""
    if inplace:
        raise ValueError(f"{name}: inplace must be False in a traced function, got {inplace!r}")


def inplace_into_out(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Return ``function`` with ``inplace=True``, its argument ``position``, meaning ``out``."""
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        inplace = args[position] if len(args) > position else kwargs.get("inplace", False)
        if not inplace:
            return function(*args, out=out, **kwargs)
        target = args[0] if args else kwargs["input"]
        if isinstance(target, Tensor):
            refuse_inplace(name, inplace)
        if out is not None:
            raise ValueError(f"{name}: out must be left away with inplace=True")
        kept = args[:position] + (False,) * (len(args) > position) + args[position + 1 :]
        return function(*kept, out=target, **{k: v for k, v in kwargs.items() if k != "inplace"})

    return call


def pointwise(
    body: Callable[..., Tensor] | None = None, *, integers: bool = False, page: str = ""
) -> Callable[..., Any]:
    """Make a function of the layer of an element-wise body over one tensor and parameters.

    Its docstring starts with a summary; entries for parameters may follow. ``integers``: whether
    integers may come in. ``page``: more to say about the source.
    """
    if body is None:
        return functools.partial(pointwise, integers=integers, page=page)
    name = body.__name__
    names = list(inspect.signature(body).parameters)
    position = names.index("inplace") if "inplace" in names else None

    @functools.wraps(body)
    def checked(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not (integers and input.dtype in _INTEGERS):
            check_float(name, input=input)
        if position is not None:
            inplace = args[position - 1] if len(args) >= position else kwargs.get("inplace")
            refuse_inplace(name, inplace)
        return body(input, *args, **kwargs)

    function: Callable[..., Any] = operation(checked)
    if position is not None:
        function = inplace_into_out(function, position)
    function.__doc__ = _text(body, position is not None, integers, page)
    describe_out(function)
    return function


def _text(body: Callable[..., Any], has_inplace: bool, integers: bool, page: str) -> str:
    summary, _, parameters = inspect.cleandoc(body.__doc__ or "").partition("\n\n")
    if parameters:
        parameters += "\n"
    if has_inplace:
        parameters += _INPLACE
    dtypes = _FLOATS + (f", {', '.join(_INTEGERS)}" if integers else "")
    before = _BEFORE.format(summary=summary, dtypes=dtypes, parameters=parameters)
    return before + _AFTER.format(page=page)
