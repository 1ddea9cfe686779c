# SPDX-License-Identifier: Apache-2.0
"""Shared parts of losses: ``reduction``, dtypes, and fused element-wise losses."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import describe_out, operation, sections
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import as_row, from_row, linear_map, zeros
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, grid, reshape


def check_dtypes(name: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise TypeError unless all tensors are floating point and have the same dtype."""
    check_float(name, input=input, **others)
    for argument, tensor in others.items():
        if tensor is not None and tensor.dtype != input.dtype:
            raise TypeError(
                f"{name}: {argument} must have the dtype of input, {input.dtype}, got "
                f"{tensor.dtype}"
            )


def promoted(name: str, input: Tensor, **others: Tensor) -> list[Tensor]:
    """Promote floating-point tensors to a common dtype."""
    check_float(name, input=input, **others)
    return _in_one_dtype(input, *others.values())


def promoted_with_integers(name: str, input: Tensor, target: Tensor) -> list[Tensor]:
    """Promote both to a common dtype; the target may be integer."""
    check_float(name, input=input)
    if target.dtype in dtypes.PACKED:
        raise TypeError(f"{name}: target must not be of 4-bit numbers, got {target.dtype}")
    return _in_one_dtype(input, target)


def _in_one_dtype(*tensors: Tensor) -> list[Tensor]:
    common = dtypes.promote(*(t.dtype for t in tensors))
    return [converted(t, common) for t in tensors]


# --- Fused element-wise losses

#: Above this, sums take two passes; the first sums rows in parallel.
_ONE_PASS = 4096
_BEFORE = """{summary}

Parameters
----------
{parameters}"""
_LEGACY = """size_average, reduce : bool, optional
    torch's old names of ``reduction``, with its warning.
"""
_AFTER = """reduction : {choices}
    How to reduce the losses of the elements.

Returns
-------
dpnp.ndarray or Array
    A single number, shape (), or with ``"none"`` {shape}.

Raises
------
TypeError
    The dtypes are not floating-point or differ.
ValueError
    Shapes do not fit, or a parameter is out of its range.

Notes
-----
Source: {source}; names and defaults are torch.nn.functional's.
"""


def loss(
    source: str = 'oneDNN developer guide, "Binary", "Eltwise" and "Reduction"',
    choices: str = '{"mean", "sum", "none"}',
    shape: str = "as the input",
    entries: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public loss function.

    The docstring consists of a summary, and optionally text and parameter entries. ``entries`` come
    first among the parameters.
    """

    def make(body: Callable[..., Any]) -> Callable[..., Any]:
        summary, parameters = sections(body)
        legacy = _LEGACY if "size_average" in inspect.signature(body).parameters else ""
        function = operation(body)
        before = _BEFORE.format(summary=summary, parameters=entries + parameters + legacy)
        function.__doc__ = before + _AFTER.format(choices=choices, shape=shape, source=source)
        describe_out(function)
        return function

    return make


def checked_reduction(
    name: str,
    reduction: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    known: tuple[str, ...] = ("none", "mean", "sum"),
) -> str:
    """Return the effective reduction; deprecated arguments take precedence, as in torch."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = "none" if reduce is False else "mean" if average else "sum"
        warn(
            f"{name}: size_average and reduce are deprecated; use reduction={reduction!r}",
        )
    if reduction not in known:
        words = ", ".join(map(repr, known))
        raise ValueError(f"{name}: reduction must be one of {words}, got {reduction!r}")
    return reduction


def _rows(n: int) -> int:
    """Return the largest divisor of ``n`` up to its square root; 1 for few elements."""
    if n <= _ONE_PASS:
        return 1
    return next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)


def _summed_rows(x: Tensor, dtype: str, attr: PrimitiveAttr | None = None) -> Tensor:
    """Sum the rows of (M, N) to (M, 1)."""
    kind = algorithm.reduction_sum
    if x.shape[1] == 1:
        return x.trace.convert(x, dtype)
    if "float64" in (x.dtype, dtype):
        return reduce(kind, x, (1,), dtype)
    out = {"dst": Out((x.shape[0], 1), dtype)}
    return x.trace.primitive("reduction", {"src": x}, out, attr=attr, algorithm=kind)["dst"]


def total(x: Tensor, factor: float = 1.0) -> Tensor:
    """Return ``factor`` times the sum of a dense tensor, shape (), accumulated in float32."""
    trace, n = x.trace, x.size
    if n < 2:
        only = x if n else zeros(trace, (1,), x.dtype)
        return linear_map(grid(only, ()), factor)
    if x.dtype == "float64":
        return linear_map(grid(_summed_rows(grid(x, (1, n)), x.dtype), ()), factor)
    rows = _rows(n)
    made = grid(x, (rows, n // rows))
    if rows > 1:
        made = grid(_summed_rows(made, "float32"), (1, rows))
    attr, post_ops = PrimitiveAttr(), PostOps()
    post_ops.append_eltwise(algorithm.eltwise_linear, factor, 0.0)
    attr.set_post_ops(post_ops)
    return grid(trace.convert(_summed_rows(made, "float32", attr=attr), x.dtype), ())


def pointwise_loss(
    operands: Mapping[str, Tensor],
    value: Callable[..., Tensor],
    slopes: Mapping[str, Callable[..., Tensor]],
    reduction: str,
) -> Tensor:
    """Record an element-wise loss with its reduction as one operation.

    ``operands`` have equal shapes; ``value`` maps them, each flattened to a row, to a row of
    losses. ``slopes`` maps operands to functions that return their gradients; the first argument is
    the incoming gradient, a row or a single number, followed by the same rows.
    """
    first = next(iter(operands.values()))
    shape, order = first.shape, axis_order(first, first.ndim)
    n = first.size
    factor = 1.0 if reduction != "mean" else 1 / n if n else math.nan

    def row(x: Tensor) -> Tensor:
        return as_row(x, order, (1, 1, n))

    def all_of(x: Tensor) -> Tensor:
        return from_row(x, shape, order)

    def forward() -> Tensor:
        elements = value(*map(row, operands.values()))
        return all_of(elements) if reduction == "none" else total(elements, factor)

    def gradient(dy: Tensor) -> dict[str, Tensor]:
        g = row(dy) if reduction == "none" else reshape(linear_map(dy, factor), (1, 1, 1))
        # The same rows: a copy made before is reused.
        rows = [row(x) for x in operands.values()]
        return {name: all_of(slope(g, *rows)) for name, slope in slopes.items()}

    return first.trace.closed(operands, forward, gradient)


def reduced(x: Tensor, reduction: str) -> Tensor:
    """Return the elements of a loss, their sum or their mean."""
    if reduction == "none":
        return x
    kind = algorithm.reduction_sum if reduction == "sum" else algorithm.reduction_mean
    return reshape(reduce(kind, x, range(x.ndim)), ())
