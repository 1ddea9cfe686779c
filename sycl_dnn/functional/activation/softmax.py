# SPDX-License-Identifier: Apache-2.0
"""softmax, log_softmax, softmin."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import MemoryDesc, algorithm, engine_kind, softmax_backward
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.kernels.softmax_slices import softmax as softmax_of_slices
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import AXES_OF_SOFTMAX
from sycl_dnn.onednn.reference_code import is_slow_reference
from sycl_dnn.trace import layout, nan_kept
from sycl_dnn.trace.gradients import Grads, composed_rule, rule_for
from sycl_dnn.trace.pointwise import EXP, binary, chain, linear_map, mul, sub
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import nan_of_rows, reduce
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


def normalized(x: Tensor, axis: int, kind: algorithm) -> Tensor:
    """Apply one of oneDNN's softmax algorithms, in the layout of ``x``."""
    if x.ndim > AXES_OF_SOFTMAX and x.trace.engine.kind is not engine_kind.cpu:
        rows = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
        return reshape(normalized(reshape(x, rows), 1, kind), x.shape)
    is_log = kind is algorithm.softmax_log
    made = softmax_of_slices(x, axis, is_log, partial(_by_onednn, x, axis, kind))
    return _by_onednn(x, axis, kind) if made is None else made


def _by_onednn(x: Tensor, axis: int, kind: algorithm) -> Tensor:
    if x.size and nan_kept.is_asked_for(x):
        return _with_nan(x, axis, kind)
    return _by_primitive(x, axis, kind)


def _with_nan(x: Tensor, axis: int, kind: algorithm) -> Tensor:
    """Return softmax whose slices are NaN as a whole; oneDNN's keep some 0."""
    made: list[Tensor] = []

    def body() -> Tensor:
        y = _by_primitive(x, axis, kind)
        marks = nan_of_rows(y, (axis,))
        made[:] = [binary(algorithm.binary_add, y, marks, y.dtype), marks]
        return made[0]

    def rule(dy: Tensor) -> Grads:
        y, marks = made
        slope = _composed(y, dy, kind, axis)
        return {"x": binary(algorithm.binary_add, slope, marks, slope.dtype)}

    def composed() -> Tensor:
        """Record the same of slices that are NaN as a whole already."""
        return _by_primitive(binary(algorithm.binary_add, x, made[1], x.dtype), axis, kind)

    return x.trace.closed({"x": x}, body, rule, composed)


def _by_primitive(x: Tensor, axis: int, kind: algorithm) -> Tensor:
    made = x.trace.primitive(
        "softmax_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, x)},
        ask={"src": x},
        prop_kind=x.trace.forward_kind,
        algorithm=kind,
        axis=axis,
    )
    return made["dst"]


@rule_for("softmax_forward")
def _softmax(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    y, axis = entry.outputs["dst"], entry.params["axis"]
    # Backward along any but the innermost axis has no compiled kernel.
    order = [a for a in _order(y) if a != axis] + [axis]
    desc = layout.strided(y.shape, y.dtype, layout.permuted_strides(y.desc.dims, order))
    given = {"algorithm": entry.params["algorithm"], "axis": axis, "hint_fwd_pd": entry.pd}
    if _is_slow(trace, desc, given):
        return {"src": _composed(y, grads["dst"], entry.params["algorithm"], axis)}
    made = trace.primitive(
        "softmax_backward",
        {"dst": y, "diff_dst": grads["dst"]},
        {"diff_src": Out(y.shape, y.dtype, desc)},
        ask={"dst": desc, "diff_dst": desc},
        **given,
    )
    return {"src": made["diff_src"]}


def _is_slow(trace: Trace, desc: MemoryDesc, given: dict[str, Any]) -> bool:
    """Whether a CPU has the reference implementation alone: without AVX-512 there is no other."""
    if trace.engine.kind is not engine_kind.cpu:
        return False
    try:
        pd = softmax_backward(trace.engine, diff_src=desc, diff_dst=desc, dst=desc, **given)
    except Unimplemented:
        return False
    return is_slow_reference("softmax_backward", pd.impl_info)


def _composed(y: Tensor, dy: Tensor, kind: algorithm, axis: int) -> Tensor:
    """Return the gradient by element-wise steps and a sum over rows."""
    dy = dy.trace.convert(dy, y.dtype)
    if kind is algorithm.softmax_log:
        total = reduce(algorithm.reduction_sum, dy, (axis,))
        return sub(dy, mul(chain(y, EXP), total))
    total = reduce(algorithm.reduction_sum, mul(y, dy), (axis,))
    return mul(y, sub(dy, total))


@composed_rule("softmax_backward")
def _backward(entry: Entry) -> Grads:
    y, dy, params = entry.inputs["dst"], entry.inputs["diff_dst"], entry.params
    return {"diff_src": _composed(y, dy, params["algorithm"], params["axis"])}


def _order(x: Tensor) -> list[int]:
    """Return the axes as they lie in memory, outermost first."""
    dims, strides = x.desc.dims, x.desc.strides
    return sorted(range(len(dims)), key=lambda a: (-strides[a], -dims[a], a))


def _axis(name: str, dim: Any, ndim: int) -> int:
    if dim is not None:
        return check_axis(name, dim, ndim)
    warn(
        f"{name}: dim should be given; without it, it is 0 for arrays with 0, 1 or 3 axes, else 1",
    )
    return 0 if ndim in (0, 1, 3) else 1


def _run(name: str, input: Tensor, dim: Any, dtype: Any, kind: str, sign: int = 1) -> Tensor:
    if dtype is not None:
        wanted = dtypes.name_of(dtype)
        if not dtypes.is_float(wanted):
            raise TypeError(f"{name}: dtype must be a floating-point dtype, got {wanted}")
        input = input.trace.convert(input, wanted)
    check_float(name, input=input)
    axis = _axis(name, dim, input.ndim)
    x = input if sign == 1 else linear_map(input, -1.0)
    return normalized(x, axis, getattr(algorithm, kind))


#: What the functions say of themselves, after a summary each.
_DOC = """{summary}

Parameters
----------
input : dpnp.ndarray or Array (*)
    float32, bfloat16 or float16, float64 where the device has it. The innermost axis of the
    memory is the fastest, for the gradient in particular.
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
    The dtype is not floating-point.
ValueError
    There is no axis ``dim``.

Notes
-----
Source: oneDNN developer guide, "Softmax", {source}.
"""


#: What oneDNN makes of a slice with NaN or infinity.
_NAN = (
    "One NaN or infinity\n    in a slice leaves 0 at its other places, unless "
    '``set_nan("propagate")``: then all are NaN.'
)


@operation
@templated(
    _DOC,
    note="A slice of minus infinities is NaN. " + _NAN,
    source="algorithm ``softmax_accurate``",
)
def softmax(
    input: dpnp.ndarray | Array, dim: int | None = None, *, dtype: Any = None
) -> dpnp.ndarray | Array:
    """Return ``exp(x) / sum(exp(x))``, the sum over one axis."""
    return _run("softmax", input, dim, dtype, "softmax_accurate")


@operation
@templated(
    _DOC,
    note="On CPUs, oneDNN's logarithm is exact to 4e-6. " + _NAN,
    source="algorithm ``softmax_log``",
)
def log_softmax(
    input: dpnp.ndarray | Array, dim: int | None = None, *, dtype: Any = None
) -> dpnp.ndarray | Array:
    """Return ``x - log(sum(exp(x)))``, the sum over one axis."""
    return _run("log_softmax", input, dim, dtype, "softmax_log")


@operation
@templated(_DOC, note="A slice of infinities is NaN. " + _NAN, source='after "Eltwise"')
def softmin(
    input: dpnp.ndarray | Array, dim: int | None = None, *, dtype: Any = None
) -> dpnp.ndarray | Array:
    """Return ``softmax(-x)``."""
    return _run("softmin", input, dim, dtype, "softmax_accurate", -1)
