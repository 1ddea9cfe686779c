# SPDX-License-Identifier: Apache-2.0
"""Shared parts of losses: ``reduction``, dtypes, element-wise losses as one kernel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import describe_out, operation, sections
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import (
    check_float,
    check_same_dtype,
)
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.reduction import MEAN
from sycl_dnn.ops.shape import SUM, reshape
from sycl_dnn.trace import views
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor


def check_dtypes(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise TypeError unless all tensors are floating point and have the same dtype."""
    check_float(name, input=input, **others)
    for argument, tensor in others.items():
        if tensor is not None:
            check_same_dtype(name, "input", argument, input, tensor)


def promoted(name: str, input: Tensor, **others: Tensor) -> list[Tensor]:
    """Promote floating-point tensors to a common dtype, as operands are."""
    check_float(name, input=input, **others)
    return as_operands(input, *others.values())


def check_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    """Raise ValueError unless the shapes of input and target broadcast."""
    try:
        views.broadcast_shape(input.shape, target.shape)
    except ValueError:
        raise ValueError(
            f"{name}: target must broadcast with input, {input.shape}, got {target.shape}"
        ) from None


def as_operands(*tensors: Tensor) -> list[Tensor]:
    """Return tensors in the dtype to which operands of arithmetic are promoted."""
    common = dtypes.result_dtype(*tensors)
    return [converted(t, common) for t in tensors]


def promoted_with_integers(name: str, input: Tensor, target: Tensor) -> list[Tensor]:
    """Promote both to a common dtype; the target may be integer."""
    check_float(name, input=input)
    if target.dtype in dtypes.PACKED:
        raise TypeError(f"{name}: target must not be of 4-bit numbers, got {target.dtype}")
    # Torch expands them first, so a 0-d array counts like any other.
    common = dtypes.promote(input.dtype, target.dtype)
    return [converted(input, common), converted(target, common)]


# --- ``reduction``, element-wise losses, docstrings

_BEFORE = """{summary}

Parameters
----------
{parameters}"""
_LEGACY = """size_average, reduce : bool, optional
    Deprecated names of ``reduction``; they warn, as in torch.
"""
_AFTER = """reduction : {{{choices}}}
    Reduction of the element-wise losses.

Returns
-------
dpnp.ndarray or Array
    A single number, shape (), or with ``"none"`` {shape}.

Raises
------
TypeError
    The dtypes are not floating point or differ.
ValueError
    Shapes do not match, or a parameter is out of range.

Notes
-----
Source: {source}; names and defaults are torch.nn.functional's.
"""


def loss(
    source: str = 'oneDNN developer guide, "Binary", "Eltwise" and "Reduction"',
    choices: tuple[str, ...] = ("none", "mean", "sum"),
    shape: str = "as the input",
    entries: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public loss function, whose body gets one of ``choices`` as ``reduction``.

    The docstring consists of a summary, and optionally text and parameter entries. ``entries`` come
    first among the parameters.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        summary, parameters = sections(body)
        legacy = _LEGACY if "size_average" in inspect.signature(body).parameters else ""
        function = operation(_with_reduction(body, choices))
        before = _BEFORE.format(summary=summary, parameters=entries + parameters + legacy)
        function.__doc__ = before + _AFTER.format(
            choices=", ".join(f'"{choice}"' for choice in choices), shape=shape, source=source
        )
        describe_out(function)
        return function

    return decorate


def _with_reduction(body: Callable[..., Any], choices: tuple[str, ...]) -> Callable[..., Any]:
    """Return a body whose ``reduction`` is checked, and says what deprecated arguments say."""
    signature = inspect.signature(body)

    @functools.wraps(body)
    def checked(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        deprecated = given.get("size_average"), given.get("reduce")
        given["reduction"] = checked_reduction(
            body.__name__, given["reduction"], *deprecated, choices
        )
        return body(*bound.args, **bound.kwargs)

    return checked


def checked_reduction(
    name: str,
    reduction: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    choices: tuple[str, ...] = ("none", "mean", "sum"),
) -> str:
    """Return the effective reduction; deprecated arguments take precedence, as in torch."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
        warn(f"{name}: size_average and reduce are deprecated; use reduction={reduction!r}")
    if reduction not in choices:
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"{name}: reduction must be one of {allowed}, got {reduction!r}")
    return reduction


def elementwise_loss(
    definition: Callable[..., Node], *operands: Tensor, reduction: str, weight: Tensor | None = None
) -> Tensor:
    """Record an element-wise loss and its reduction as one kernel.

    ``definition`` takes one node for each operand; shapes broadcast. ``weight`` scales the
    element-wise losses and broadcasts to them. Narrow dtypes are computed in float32.
    """
    dtype = operands[0].dtype
    wide = dtypes.wide(dtype)

    def reduced_loss(*nodes: Node) -> Node:
        args = [cast(node, wide) for node in nodes]
        result = definition(*args[: len(operands)])
        if weight is not None:
            result = result * args[-1]
        if reduction != "none":
            row = MEAN if reduction == "mean" else SUM
            result = reshape(row(result, axes=tuple(range(result.ndim))), ())
        return cast(result, dtype)

    return computed(reduced_loss, *operands, *([] if weight is None else [weight]))


def reduced(x: Tensor, reduction: str) -> Tensor:
    """Return the elements of a loss, their sum or their mean."""
    if reduction == "none":
        return x
    kind = algorithm.reduction_sum if reduction == "sum" else algorithm.reduction_mean
    return views.reshape(reduce(kind, x, range(x.ndim)), ())
