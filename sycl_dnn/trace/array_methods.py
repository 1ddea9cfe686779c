# SPDX-License-Identifier: Apache-2.0
"""Methods of dpnp arrays on traced tensors, so that model code need not distinguish them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn._torch_habits import hint as hint_for
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions
from sycl_dnn.trace.array_device import device_on
from sycl_dnn.trace.cloning import clone_of
from sycl_dnn.trace.refusals import (
    NO_ATTRIBUTES,
    OF_VALUES,
    REFUSED,
    VALUES,
    NeedsArrays,
    method_of_values,
    refused_attribute,
    refused_method,
)
from sycl_dnn.trace.torch_methods import has_torch_methods, written


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{name}(): out must be omitted for a traced array")


def _reduction(name: str) -> Any:
    def method(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, *, keepdims: bool = False
    ) -> Any:
        _refuse_out(name, out)
        wide = self if dtype is None else functions.astype(self, dtype)
        return getattr(functions, name)(wide, axis, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, with NumPy's names of parameters."
    return method


def _extreme(name: str) -> Any:
    def method(self: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        _refuse_out(name, out)
        return getattr(functions, name)(self, axis, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, with NumPy's names of parameters."
    return method


def _spread(name: str) -> Any:
    def method(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, correction: float | None = None,
    ) -> Any:  # fmt: skip
        _refuse_out(name, out)
        wide = self if dtype is None else functions.astype(self, dtype)
        correction = ddof if correction is None else correction
        return getattr(functions, name)(wide, axis, correction=correction, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, by default over the whole population."
    return method


def _cumulative(name: str) -> Any:
    def method(self: Any, axis: int | None = None, dtype: Any = None, *, out: Any = None) -> Any:
        _refuse_out(name, out)
        x, along = _along(self, axis)
        return getattr(functions, name)(x, along, dtype=dtype)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, by default over all elements."
    return method


def by_function(name: str, *, is_reflected: bool = False) -> Any:
    """Return the method of an operator: a function of the layer."""

    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if is_reflected else (self, other)
        return getattr(functions, name)(*operands)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``."
    return method


def _in_place(name: str, sign: Callable[[Any, Any], Any]) -> Any:
    def method(self: Any, other: Any) -> Any:
        return written(self, name, sign(self, other))

    method.__doc__ = "Write the result over the array; compiled functions return a new one."
    return method


def _along(x: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array, of its elements without an axis, and the index of the axis."""
    if axis is None:
        return x.reshape(-1), 0
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis must be in [{-x.ndim}, {x.ndim}), got {axis}")
    return x, axis % x.ndim


#: Names of methods that other libraries' arrays have, where the functional layer's differ.
_OTHER_NAMES = {
    "cpu": "the array itself", "contiguous": "the array itself", "detach": "stop_gradient",
    "dim": "the attribute ndim", "numel": "the attribute size",
    "float": "astype('float32')", "to": "astype", "type": "astype", "numpy": "the array itself",
}  # fmt: skip


class Reductions:
    """Sums, extremes and spreads: functions of the layer with NumPy's names of parameters."""

    __slots__ = ()

    sum = _reduction("sum")
    prod = _reduction("prod")
    mean = _reduction("mean")
    max = _extreme("amax")
    min = _extreme("amin")
    argmax = _extreme("argmax")
    argmin = _extreme("argmin")
    all = _extreme("all")
    any = _extreme("any")
    var = _spread("var")
    std = _spread("std")


class ArrayMethods(Reductions):
    """Shapes, slices, dtypes, reductions; methods that need values or memory are refused by name.

    In-place operators write as ``torch_methods.overwritten`` says.
    """

    __slots__ = ()

    # As a key a tensor is itself.
    __hash__ = object.__hash__

    for _name in REFUSED:
        locals()[_name] = (method_of_values if _name in OF_VALUES else refused_method)(_name)
    for _name in NO_ATTRIBUTES:
        locals()[_name] = refused_attribute(_name)
    del _name

    __and__ = by_function("bitwise_and")
    __rand__ = by_function("bitwise_and", is_reflected=True)
    __or__ = by_function("bitwise_or")
    __ror__ = by_function("bitwise_or", is_reflected=True)
    __xor__ = by_function("bitwise_xor")
    __rxor__ = by_function("bitwise_xor", is_reflected=True)
    __lshift__ = by_function("bitwise_left_shift")
    __rlshift__ = by_function("bitwise_left_shift", is_reflected=True)
    __rshift__ = by_function("bitwise_right_shift")
    __rrshift__ = by_function("bitwise_right_shift", is_reflected=True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pos__(self) -> Any:
        return clone_of(self)

    def __invert__(self) -> Any:
        return functions.bitwise_not(self)

    # dpnp's own would write into memory, which a traced array does not have.
    __iadd__ = _in_place("+=", operator.add)
    __isub__ = _in_place("-=", operator.sub)
    __imul__ = _in_place("*=", operator.mul)
    __itruediv__ = _in_place("/=", operator.truediv)
    __ipow__ = _in_place("**=", operator.pow)
    __imatmul__ = _in_place("@=", operator.matmul)
    __ifloordiv__ = _in_place("//=", operator.floordiv)
    __imod__ = _in_place("%=", operator.mod)
    __iand__ = _in_place("&=", operator.and_)
    __ior__ = _in_place("|=", operator.or_)
    __ixor__ = _in_place("^=", operator.xor)
    __ilshift__ = _in_place("<<=", operator.lshift)
    __irshift__ = _in_place(">>=", operator.rshift)

    def __getattr__(self, name: str) -> Any:
        if name in NO_ATTRIBUTES:
            raise AttributeError(f"{name}: {NO_ATTRIBUTES[name]}")
        other = _OTHER_NAMES.get(name)
        if other is None and not name.startswith("_") and hasattr(functions, name):
            other = f"sycl_dnn.functional.{name}"
        hint = hint_for("array", name) if other is None else f"; use {other}"
        raise AttributeError(f"arrays have no attribute {name!r} in a traced function{hint}")

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, spec: str) -> str:
        if spec:
            raise NeedsArrays(f"format(): {VALUES}")
        return repr(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * dtypes.bits_of(self.dtype) // 8

    @property
    def sycl_queue(self) -> Any:
        """The queue of the call that is traced."""
        return self.trace.queue

    @property
    def sycl_device(self) -> Any:
        """The device of the call that is traced."""
        return self.sycl_queue.sycl_device

    @property
    def sycl_context(self) -> Any:
        """The context of the call that is traced."""
        return self.sycl_queue.sycl_context

    @property
    def device(self) -> Any:
        """The device of the call that is traced, with torch's ``type`` and ``index``."""
        return device_on(self.sycl_queue)

    @property
    def real(self) -> Any:
        """The real parts."""
        return functions.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts; zeros of real arrays."""
        is_complex = dtypes.is_complex(self.dtype)
        return functions.imag(self) if is_complex else functions.mul(self, 0)

    def conj(self) -> Any:
        """Return the complex conjugates."""
        return functions.conj(self) if dtypes.is_complex(self.dtype) else clone_of(self)

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Return the elements clamped to the limits."""
        _refuse_out("clip", out)
        return functions.clamp(self, min, max)

    def round(self, decimals: int = 0, *, out: Any = None) -> Any:
        """Return the elements rounded to ``decimals`` places, ties to even; the gradient is 0."""
        _refuse_out("round", out)
        return functions.round(self, decimals=decimals)

    def reshape(self, *sizes: Any, shape: Any = None, order: str = "C", copy: Any = None) -> Any:
        """Return the elements in another shape; one size may be -1."""
        _check_order("reshape", order)
        shape = sizes if shape is None else (shape,)
        is_nested = len(shape) == 1 and isinstance(shape[0], (tuple, list))
        return functions.reshape(self, shape[0] if is_nested else shape)

    def transpose(self, *axes: Any) -> Any:
        """Return a view with permuted axes, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return functions.permute(self, order or tuple(range(len(self.shape)))[::-1])

    @property
    def T(self) -> Any:  # noqa: N802
        """The tensor with its axes reversed."""
        return functions.permute(self, range(self.ndim)[::-1])

    @property
    def mT(self) -> Any:  # noqa: N802
        """The tensor with its last two axes exchanged."""
        return self.swapaxes(-1, -2)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return a view with two axes exchanged."""
        return functions.transpose(self, axis1, axis2)

    def flatten(self, order: str = "C") -> Any:
        """Return the elements as one axis."""
        _check_order("flatten", order)
        return clone_of(self.reshape(-1))

    def ravel(self, order: str = "C") -> Any:
        """Return the elements as one axis."""
        _check_order("ravel", order)
        return self.reshape(-1)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Any:
        """Remove axes of size 1: all of them, or those named."""
        return functions.squeeze(self, axis)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True, device: Any = None) -> Any:  # fmt: skip
        """Return the values in another dtype."""
        if casting != "unsafe" or device is not None:
            raise TypeError("astype(): casting and device must be omitted for a traced array")
        result = functions.astype(self, dtype)
        return clone_of(result) if copy and result is self else result

    def copy(self, order: str = "C", **kwargs: Any) -> Any:
        """Return the same elements, which writes to the tensor do not change."""
        if kwargs:
            raise TypeError(f"copy(): {', '.join(kwargs)} must be omitted for a traced array")
        return clone_of(self)

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the product with a vector, a matrix or a number."""
        _refuse_out("dot", out)
        axes = [self.ndim, getattr(b, "ndim", 0)]
        if 0 in axes:
            return functions.mul(self, b)
        if max(axes) > 2:
            raise TypeError(f"dot(): a traced array has at most two axes in dot, got {axes}; use @")
        return functions.matmul(self, b)

    cumsum = _cumulative("cumsum")
    cumprod = _cumulative("cumprod")

    def argsort(self, axis: int | None = -1, kind: str | None = None, order: Any = None, *,
                descending: bool = False, stable: bool | None = None) -> Any:  # fmt: skip
        """Return the indices that sort the elements in ascending or descending order."""
        x = self.reshape(-1) if axis is None else self
        return functions.argsort(x, -1 if axis is None else axis, descending)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return the indices where ``v`` belongs in this array, which is sorted."""
        if sorter is not None or not hasattr(v, "shape"):
            raise TypeError("searchsorted(): v must be an array, and sorter omitted, when traced")
        return functions.array_function(
            lambda a, b: dpnp.searchsorted(a, b, side=side), self, v, shape=v.shape, dtype="int64",
            name="searchsorted()",
        )  # fmt: skip

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Return the elements of a diagonal, as the last axis."""
        return functions.diagonal(self, offset, axis1, axis2)

    def repeat(self, repeats: int, axis: int | None = None) -> Any:
        """Return each element ``repeats`` times, along an axis or of all."""
        if not isinstance(repeats, int) or repeats < 0:
            raise TypeError(f"repeat(): repeats must be a number for a traced array, got {repeats}")
        return functions.repeat_interleave(self, repeats, axis)

    def take(self, indices: Any, axis: int | None = None, *, out: Any = None,
             mode: str = "wrap") -> Any:  # fmt: skip
        """Return elements by index, along an axis or of all; negative indices count from the end.

        Known indices out of range raise IndexError; others give NaN (0 for integers), where dpnp's
        ``mode`` would clamp or wrap them.
        """
        _refuse_out("take", out)
        x, along = _along(self, axis)
        if not hasattr(indices, "shape"):
            indices = np.asarray(indices, "int64")
        return x[(slice(None),) * along + (indices,)]

    def nonzero(self, *, as_tuple: bool | None = None) -> Any:
        """As of the array: a tuple of indices; in modules as torch's, (k, number of axes)."""
        as_tuple = not has_torch_methods() if as_tuple is None else as_tuple
        return functions.nonzero(self, as_tuple=as_tuple)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign to elements, as torch: views of the tensor have them, too.

        Raises TypeError if it is an argument with a gradient, a parameter, or an array that the
        function captures, or a view of one.
        """
        self.trace.assign(self, key, value)

    def fill(self, value: Any) -> None:
        """Assign a number to all elements, as the method of arrays."""
        self[...] = value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.__len__()))

    def __getitem__(self, key: Any) -> Any:
        return functions.taken(self, key)


def _check_order(name: str, order: str) -> None:
    if order != "C":
        raise TypeError(f"{name}(): order must be 'C' for a traced array, got {order!r}")
