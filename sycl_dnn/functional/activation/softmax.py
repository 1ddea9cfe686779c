# SPDX-License-Identifier: Apache-2.0
"""``softmax``, ``log_softmax`` and ``softmin``."""

from __future__ import annotations

from functools import partial
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.reduction.sums import of_elements
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.ir.node import Node, Operation
from sycl_dnn.lower.node_lowering import meaning
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import AXES_OF_SOFTMAX
from sycl_dnn.ops import reduction as ops
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def normalized(x: Tensor, axis: int) -> Tensor:
    """Return softmax along an axis, in the layout of ``x``.

    Compiled functions recognize attention by its softmax primitive, and replace all others.
    """
    if x.trace.is_compiled and x.dtype != "float64" and _is_innermost(x, axis):
        return by_primitive(x, axis, x.dtype)
    return _by_kernel(ops.SOFTMAX, x, axis)


def log_normalized(x: Tensor, axis: int) -> Tensor:
    """Return the logarithm of softmax along an axis."""
    return _by_kernel(ops.LOG_SOFTMAX, x, axis)


def _by_kernel(row: Operation, x: Tensor, axis: int) -> Tensor:
    if not x.ndim:
        return reshape(_by_kernel(row, reshape(x, (1,)), 0), ())
    dtype = str(x.dtype)
    wide = dtypes.wide(dtype)
    return of_elements(partial(row, axis=axis), x, wide=wide, dtype=dtype)


def _is_innermost(x: Tensor, axis: int) -> bool:
    return 0 < x.ndim <= AXES_OF_SOFTMAX and x.desc.strides[axis] == 1


def by_primitive(x: Tensor, axis: int, dtype: str) -> Tensor:
    """Record oneDNN's softmax in a dtype; derivatives are those of the nodes."""
    wide = dtypes.wide(x.dtype)

    def definition(node: Node) -> Node:
        return cast(ops.SOFTMAX(cast(node, wide), axis=axis), dtype)

    def record() -> Tensor:
        result = x.trace.primitive(
            "softmax_forward",
            {"src": x},
            {"dst": Out(x.shape, dtype, x)},
            ask={"src": x},
            prop_kind=x.trace.forward_kind,
            algorithm=algorithm.softmax_accurate,
            axis=axis,
        )
        return result["dst"]

    return meaning(definition, (x,), record)


def _axis(name: str, dim: Any, ndim: int) -> int:
    if dim is not None:
        return check_axis(name, dim, ndim)
    warn(f"{name}: dim should be given; without it, it is 0 for arrays with 0, 1 or 3 axes, else 1")
    return 0 if ndim in (0, 1, 3) else 1


def _run(
    name: str, input: Tensor, dim: Any, dtype: Any, *, is_log: bool = False, sign: int = 1
) -> Tensor:
    if dtype is not None:
        dtype = dtypes.name_of(dtype)
        if not dtypes.is_float(dtype):
            raise TypeError(f"{name}: dtype must be a floating-point dtype, got {dtype}")
        input = converted(input, dtype)
    check_float(name, input=input)
    axis = _axis(name, dim, input.ndim)
    x = input if sign == 1 else linear_map(input, -1.0)
    return (log_normalized if is_log else normalized)(x, axis)


#: Docstring template.
_DOC = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    float32, bfloat16 or float16; float64 if the device supports it. The innermost axis in memory is
    the fastest, especially for the gradient.
dim : int, optional
    The axis; negative counts from the end. By default 0 for an input with 0, 1 or 3 axes, else
    1, with a warning.
dtype : dtype, optional
    The input is converted to it first.

Returns
-------
dpnp.ndarray or Array (*)
    Shape of the input. {note}

Raises
------
TypeError
    The dtype is not floating point.
ValueError
    There is no axis ``dim``.

Notes
-----
Source: oneDNN developer guide, "Softmax", {source}.
"""


@operation
@templated(
    _DOC,
    note="A slice that contains NaN or infinity, or only minus infinity, gives NaN.",
    source="algorithm ``softmax_accurate``, used by compiled functions before products",
)
def softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Return ``exp(x) / sum(exp(x))``, the sum over one axis."""
    return _run("softmax", input, dim, dtype)


@operation
@templated(
    _DOC,
    note="NaN or infinity makes its whole slice NaN.",
    source="algorithm ``softmax_log``, which on CPUs is exact to 1e-5; kernels to 1e-6",
)
def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Return ``x - log(sum(exp(x)))``, the sum over one axis."""
    return _run("log_softmax", input, dim, dtype, is_log=True)


@operation
@templated(
    _DOC,
    note="A slice that contains NaN or minus infinity, or only infinity, gives NaN.",
    source="as ``softmax``",
)
def softmin(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Return ``softmax(-x)``."""
    return _run("softmin", input, dim, dtype, sign=-1)
