# SPDX-License-Identifier: Apache-2.0
"""Constant folding by NumPy, mainly for shape arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sycl_dnn.onnx.operator_registry import Call

Body = Callable[..., Any]
#: ``body(call, *inputs)`` for NumPy arrays; may return NotImplemented.
FOLDED: dict[str, Body] = {}
#: Results with more elements are computed on the device.
MOST = 2**16


def _fold(name: str) -> Callable[[Body], Body]:
    def add(body: Body) -> Body:
        FOLDED[name] = body
        return body

    return add


def _plain(function: Callable[..., Any]) -> Body:
    """Return the operator of a NumPy function that preserves the dtype."""

    def body(call: Call, *inputs: np.ndarray) -> Any:
        if any(v.dtype.kind not in "fiub" for v in inputs) or _size(*inputs) > MOST:
            return NotImplemented
        with np.errstate(all="ignore"):
            result = np.asarray(function(*inputs))
        return result if result.dtype == bool else result.astype(inputs[0].dtype)

    return body


def _size(*arrays: np.ndarray) -> int:
    return int(np.prod(np.broadcast_shapes(*(a.shape for a in arrays)), dtype=object))


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide; integer division truncates."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not b.all():
        raise ValueError("the divisor must not be 0")
    quotient = a // b
    return np.asarray(quotient + ((quotient < 0) & (quotient * b != a)))


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if b.dtype.kind != "f" and not b.all():
        raise ValueError("the divisor must not be 0")
    return np.asarray(np.mod(a, b))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _quotient,
    "Neg": np.negative, "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt,
    "Round": np.rint, "Pow": np.power, "Sign": np.sign, "Equal": np.equal,
    "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal, "And": np.logical_and, "Or": np.logical_or,
    "Xor": np.logical_xor, "Not": np.logical_not, "Exp": np.exp, "Log": np.log,
    "Reciprocal": np.reciprocal,
}  # fmt: skip
FOLDED |= {name: _plain(function) for name, function in _FUNCTIONS.items()}


_fold("Mod")(lambda call, a, b: _plain(np.fmod if call.get("fmod", 0) else _remainder)(call, a, b))


def _over_all(function: Callable[..., Any]) -> Body:
    def body(call: Call, first: np.ndarray, *rest: np.ndarray) -> Any:
        if _size(first, *rest) > MOST:
            return NotImplemented
        for other in rest:
            first = function(first, other)
        return first

    return body


FOLDED |= {"Max": _over_all(np.maximum), "Min": _over_all(np.minimum), "Sum": _over_all(np.add)}


@_fold("Where")
def _(call: Call, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    if _size(condition, x, y) > MOST:
        return NotImplemented
    return np.where(condition, x, y)


_fold("Identity")(lambda call, x: x)


@_fold("Concat")
def _(call: Call, *parts: np.ndarray) -> Any:
    if sum(part.size for part in parts) > MOST:
        return NotImplemented
    return np.concatenate(parts, call.get("axis", 1))


@_fold("Gather")
def _(call: Call, x: np.ndarray, index: np.ndarray) -> Any:
    if index.size > MOST or x.size > MOST:
        return NotImplemented
    return np.take(x, index, call.get("axis", 0))


@_fold("GatherElements")
def _(call: Call, x: np.ndarray, index: np.ndarray) -> Any:
    axis = call.get("axis", 0)
    is_valid = x.ndim == index.ndim > 0 and -x.ndim <= axis < x.ndim
    if not is_valid or x.size > MOST or index.size > MOST:
        return NotImplemented
    sizes = list(index.shape)
    sizes[axis] = x.shape[axis]
    if any(n > m for n, m in zip(sizes, x.shape, strict=True)):
        return NotImplemented
    return np.take_along_axis(x[tuple(map(slice, sizes))], index, axis)


@_fold("Expand")
def _(call: Call, x: np.ndarray, shape: np.ndarray) -> Any:
    sizes = np.broadcast_shapes(x.shape, tuple(call.ints(shape)))
    if np.prod(sizes, dtype=object) > MOST:
        return NotImplemented
    return np.broadcast_to(x, sizes)


def _axes(call: Call, axes: np.ndarray | None) -> tuple[int, ...] | None:
    requested = call.get("axes", axes)
    return None if requested is None else tuple(call.ints(requested))


_fold("Unsqueeze")(lambda call, x, axes=None: np.expand_dims(x, _axes(call, axes) or ()))
_fold("Squeeze")(lambda call, x, axes=None: np.squeeze(x, _axes(call, axes)))
_fold("Transpose")(lambda call, x: np.transpose(x, call.get("perm")))


@_fold("Range")
def _(call: Call, start: np.ndarray, limit: np.ndarray, step: np.ndarray) -> Any:
    if not step.item():
        raise ValueError("delta must not be 0")
    n = max(-(-(limit.item() - start.item()) // step.item()), 0)
    if n > MOST or start.dtype.kind not in "iuf":
        return NotImplemented
    return (start + np.arange(int(n), dtype=start.dtype) * step).astype(start.dtype).reshape(int(n))


def _reduced(function: Callable[..., Any]) -> Body:
    def body(call: Call, x: np.ndarray, axes: np.ndarray | None = None) -> Any:
        dims = _axes(call, axes)
        if x.dtype.kind not in "iu" or not dims and call.get("noop_with_empty_axes", 0):
            return NotImplemented
        return function(x, dims or None, keepdims=bool(call.get("keepdims", 1))).astype(x.dtype)

    return body


FOLDED |= {
    "ReduceProd": _reduced(np.prod), "ReduceSum": _reduced(np.sum), "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
}  # fmt: skip


_fold("NonZero")(lambda call, x: np.stack(np.nonzero(np.atleast_1d(x))).astype(np.int64))


#: Operators whose results are known on the host if their inputs are.
PASSED = frozenset(FOLDED) | {"Cast", "CastLike", "Flatten", "Reshape", "Slice", "ConstantOfShape"}
