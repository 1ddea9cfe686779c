# SPDX-License-Identifier: Apache-2.0
"""``softmax``, ``log_softmax`` and ``softmin``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import MemoryDesc, algorithm, engine_kind, softmax_backward
from sycl_dnn._warn import warn
from sycl_dnn.call.operation import operation, templated
from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.reduction.sums import of_elements
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.ir.node import Operation
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.fault import AXES_OF_SOFTMAX
from sycl_dnn.onednn.reference_code import is_slow_reference
from sycl_dnn.ops import reduction as ops
from sycl_dnn.trace import layout
from sycl_dnn.trace.gradients import Grads, composed_rule, rule_for
from sycl_dnn.trace.pointwise import linear_map, mul, sub
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.trace.array import Array


#: For shorter rows oneDNN is several times slower than a generated kernel.
_SHORT = 16


def normalized(x: Tensor, axis: int) -> Tensor:
    """Return softmax along an axis, in the layout of ``x``.

    For rows oneDNN is faster unless they are short, and compiled functions recognize attention by
    its softmax.
    """
    is_wanted = x.trace.is_compiled or (x.ndim and x.shape[axis] >= _SHORT)
    if is_wanted and not x.trace.keeps_nan and _is_innermost(x, axis):
        return _by_primitive(x, axis)
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
    return x.ndim <= AXES_OF_SOFTMAX and x.desc is not None and x.desc.strides[axis] == 1


def _by_primitive(x: Tensor, axis: int) -> Tensor:
    made = x.trace.primitive(
        "softmax_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, x)},
        ask={"src": x},
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.softmax_accurate,
        axis=axis,
    )
    return made["dst"]


@rule_for("softmax_forward")
def _softmax(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    y, axis = entry.outputs["dst"], entry.params["axis"]
    # Backward along any other axis has no compiled kernel.
    order = [a for a in _order(y) if a != axis] + [axis]
    desc = layout.strided(y.shape, y.dtype, layout.permuted_strides(y.desc.dims, order))
    given = {"algorithm": entry.params["algorithm"], "axis": axis, "hint_fwd_pd": entry.pd}
    if _is_slow(trace, desc, given):
        return {"src": _composed(y, grads["dst"], axis)}
    made = trace.primitive(
        "softmax_backward",
        {"dst": y, "diff_dst": grads["dst"]},
        {"diff_src": Out(y.shape, y.dtype, desc)},
        ask={"dst": desc, "diff_dst": desc},
        **given,
    )
    return {"src": made["diff_src"]}


def _is_slow(trace: Trace, desc: MemoryDesc, given: dict[str, Any]) -> bool:
    """Whether a CPU has only the reference implementation, as without AVX-512."""
    if trace.engine.kind is not engine_kind.cpu:
        return False
    try:
        pd = softmax_backward(trace.engine, diff_src=desc, diff_dst=desc, dst=desc, **given)
    except Unimplemented:
        return False
    return is_slow_reference("softmax_backward", pd.impl_info)


def _composed(y: Tensor, dy: Tensor, axis: int) -> Tensor:
    """Compute the gradient from element-wise steps and a row sum."""
    dy = dy.trace.convert(dy, y.dtype)
    total = reduce(algorithm.reduction_sum, mul(y, dy), (axis,))
    return mul(y, sub(dy, total))


@composed_rule("softmax_backward")
def _backward(entry: Entry) -> Grads:
    y, dy = entry.inputs["dst"], entry.inputs["diff_dst"]
    return {"diff_src": _composed(y, dy, entry.params["axis"])}


def _order(x: Tensor) -> list[int]:
    """Return the axes in memory order, outermost first."""
    dims, strides = x.desc.dims, x.desc.strides
    return sorted(range(len(dims)), key=lambda a: (-strides[a], -dims[a], a))


def _axis(name: str, dim: Any, ndim: int) -> int:
    if dim is not None:
        return check_axis(name, dim, ndim)
    warn(
        f"{name}: dim should be given; without it, it is 0 for arrays with 0, 1 or 3 axes, else 1",
    )
    return 0 if ndim in (0, 1, 3) else 1


def _run(
    name: str, input: Tensor, dim: Any, dtype: Any, *, is_log: bool = False, sign: int = 1
) -> Tensor:
    if dtype is not None:
        wanted = dtypes.name_of(dtype)
        if not dtypes.is_float(wanted):
            raise TypeError(f"{name}: dtype must be a floating-point dtype, got {wanted}")
        input = input.trace.convert(input, wanted)
    check_float(name, input=input)
    axis = _axis(name, dim, input.ndim)
    x = input if sign == 1 else linear_map(input, -1.0)
    return (log_normalized if is_log else normalized)(x, axis)


#: Docstring template.
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


#: Documented behavior of oneDNN for slices with NaN or infinity.
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
    return _run("softmax", input, dim, dtype)


@operation
@templated(
    _DOC,
    note="One NaN or infinity in a slice makes all of it NaN.",
    source="algorithm ``softmax_log``, which on CPUs is exact to 1e-5; kernels to 1e-6",
)
def log_softmax(
    input: dpnp.ndarray | Array, dim: int | None = None, *, dtype: Any = None
) -> dpnp.ndarray | Array:
    """Return ``x - log(sum(exp(x)))``, the sum over one axis."""
    return _run("log_softmax", input, dim, dtype, is_log=True)


@operation
@templated(_DOC, note="A slice of infinities is NaN. " + _NAN, source='after "Eltwise"')
def softmin(
    input: dpnp.ndarray | Array, dim: int | None = None, *, dtype: Any = None
) -> dpnp.ndarray | Array:
    """Return ``softmax(-x)``."""
    return _run("softmin", input, dim, dtype, sign=-1)
