# SPDX-License-Identifier: Apache-2.0
"""Arrays of the dtypes that dpnp lacks, and checks of arrays passed as ``out``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import dpnp
import numpy as np
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import _torch_habits
from sycl_dnn._dpnp import address, array_in, asnumpy, in_dtype
from sycl_dnn.onednn import dtypes, mapping
from sycl_dnn.trace import (
    allocation,
    array_writes,
    foreign_arrays,
    functions,
    stored_arrays,  # noqa: F401
)
from sycl_dnn.trace.array_device import device_on
from sycl_dnn.trace.array_methods import Reductions
from sycl_dnn.trace.torch_methods import (
    ADDED,
    FACTS,
    NUMPY_WORDS,
    SWITCHED,
    WRITERS,
    in_torch_words,
    is_building,
    writer,
)
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Operators, Tensor
from sycl_dnn.trace.write_marks import captured
from sycl_dnn.trace.written_values import check_written


def _of_bits(name: str) -> Any:
    def method(self: Array, *args: Any, **kwargs: Any) -> Array:
        if self.dtype in dtypes.PACKED:
            raise TypeError(f"{name}(): an Array must not be of 4-bit numbers, got {self.dtype}")
        return Array(getattr(self.bits, name)(*args, **kwargs), self.dtype)

    method.__name__ = name
    method.__doc__ = f"As ``dpnp.ndarray.{name}``."
    return method


def _in_float32(name: str, *, is_rounded: bool = False) -> Any:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self.astype("float32"), name)(*args, **kwargs)
        return functions.astype(result, self.dtype) if is_rounded else result

    method.__name__ = name
    method.__doc__ = f"As ``dpnp.ndarray.{name}``, computed in float32."
    return method


def _number(kind: Any) -> Any:
    def method(self: Array) -> Any:
        if self.size != 1:
            raise TypeError(
                f"{kind.__name__}(): an Array must have one element, got shape {self.shape}"
            )
        return kind(self.item())

    return method


def _in_place(name: str) -> Any:
    def method(self: Array, other: Any) -> Array:
        result = getattr(self, f"__{name}__")(other)
        if isinstance(result, Tensor):
            raise TypeError(
                "+= on an array accepts no traced arrays; use the operator that makes a new array, "
                "as in a = a + b"
            )
        if result.shape != self.shape:
            raise ValueError(f"the result must have the shape {self.shape}, got {result.shape}")
        self[...] = result
        return self

    method.__name__ = f"__i{name}__"
    method.__doc__ = "As dpnp's: the elements are written."
    return method


def _plain(value: Any) -> Any:
    """Return the array that one with torch's methods represents; all else unchanged."""
    return getattr(value, "plain", value) if isinstance(value, dpnp.ndarray) else value


def array_method(name: str) -> Callable[..., Any] | None:
    """Return torch's method for arrays with memory, of a name that dpnp's lack, or None."""
    if not (name.endswith("_") and name[:-1] in WRITERS):
        return ADDED.get(name) or functions.method(name)  # type: ignore[no-any-return]
    write = writer(name[:-1])

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_plain, args)), {n: _plain(v) for n, v in kwargs.items()}
        array, trace = _plain(x), running_trace()
        values = _plain(write(array, *args, **kwargs))
        is_once = trace is not None and not hasattr(trace, "evaluated")
        if is_once or hasattr(values, "marks"):
            raise captured(name)
        check_written(array, f"{name}()", values)
        is_plain = type(array) is dpnp.ndarray
        array_writes.assign(array, in_dtype(values, array.dtype) if is_plain else values)
        return x

    return method


class Array(Reductions, Operators):
    """A tensor of a dtype that dpnp lacks, over a dpnp array that holds its bits.

    Created by ``sycl_dnn.asarray(x, dtype="bfloat16")`` and by functions of
    ``sycl_dnn.functional``; ``astype("float32")`` returns a dpnp array. Operators are functions of
    ``sycl_dnn.functional``, so ``==`` compares element by element.

    Parameters
    ----------
    bits : dpnp.ndarray
        uint16 for bfloat16, uint8 for float8, both with the array's shape and strides. uint8 for
        int4 and uint4: a byte holds two neighbors along the last axis, the first in its low half,
        so the last axis of the array has an even size, twice that of ``bits``.
    dtype : {"bfloat16", "float8_e4m3", "float8_e5m2", "int4", "uint4"}

    Attributes
    ----------
    bits, dtype
        As given.
    shape : tuple of int

    Raises
    ------
    TypeError
        ``dtype`` is not one of these; ``bits`` does not have the dtype that holds it.
    ValueError
        ``bits`` of 4-bit numbers has gaps along its last axis.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> x = sycl_dnn.asarray(F.ones(2), dtype="bfloat16")
    >>> type(x).__name__, x.dtype, x.shape
    ('Array', 'bfloat16', (2,))
    """

    __slots__ = ("bits", "dtype", "shape")

    def __init__(self, bits: dpnp.ndarray, dtype: str) -> None:
        if dtype not in dtypes.CARRIED:
            raise TypeError(
                f"Array: dtype must be one of {', '.join(dtypes.CARRIED)}, got {dtype!r}"
            )
        if bits.dtype != dtypes.CARRIED[dtype]:
            carrier = dtypes.CARRIED[dtype]
            raise TypeError(f"Array: bits must have dtype {carrier} for {dtype}, got {bits.dtype}")
        self.bits = bits
        self.dtype = dtype
        self.shape = bits.shape
        if dtype in dtypes.PACKED:
            _check_packable(bits)
            self.shape = (*bits.shape[:-1], 2 * bits.shape[-1])

    @classmethod
    def from_bits(cls, bits: Any, dtype: str, **kwargs: Any) -> Array:
        """Return an array of numbers from their bits.

        Parameters
        ----------
        bits : array_like of int
            As above; copied to the device unless it is a dpnp array of that dtype.
        dtype : str
        **kwargs
            For ``dpnp.asarray``: ``sycl_queue``, ``device``, ``usm_type``...
        """
        carrier = dtypes.CARRIED.get(dtype, np.dtype("u1"))
        return cls(array_in(bits, carrier, **kwargs), dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of ``bits`` in bytes, as in dpnp."""
        return self.bits.strides

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Strides in elements."""
        strides = self.bits.get_array().strides
        return (*(2 * s for s in strides[:-1]), 1) if self.dtype in dtypes.PACKED else strides

    @property
    def itemsize(self) -> int:
        """Bytes of an element of ``bits``; of 4-bit numbers two share one."""
        return self.bits.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.bits.nbytes

    @property
    def sycl_queue(self) -> Any:
        """The queue that the array belongs to."""
        return self.bits.sycl_queue

    @property
    def device(self) -> Any:
        """The device, as ``dpnp.ndarray.device``, with torch's ``type`` and ``index``."""
        return device_on(self.bits.sycl_queue)

    @property
    def usm_type(self) -> str:
        """Kind of the USM allocation."""
        return self.bits.usm_type

    def get_array(self) -> Any:
        """Return the usm_ndarray of the bits."""
        return self.bits.get_array()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len(): an array without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __index__(self) -> int:
        if dtypes.is_float(self.dtype):
            raise TypeError(f"__index__(): an Array must hold integers, got {self.dtype}")
        return int(self)

    __bool__ = _number(bool)
    __int__ = _number(int)
    __float__ = _number(float)
    __complex__ = _number(complex)

    def __format__(self, format_spec: str) -> str:
        """Return a number's text for an array without axes."""
        if self.shape:
            return super().__format__(format_spec)
        return format(self.item(), format_spec)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self.round(ndigits or 0)

    for _name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod"):
        locals()[f"__i{_name}__"] = _in_place(_name)
    del _name

    all = _in_float32("all")
    any = _in_float32("any")
    argsort = _in_float32("argsort")
    nonzero = _in_float32("nonzero")
    tolist = _in_float32("tolist")
    cumsum = _in_float32("cumsum", is_rounded=True)
    cumprod = _in_float32("cumprod", is_rounded=True)
    round = _in_float32("round", is_rounded=True)
    clip = _in_float32("clip", is_rounded=True)
    flatten = _of_bits("flatten")
    ravel = _of_bits("ravel")
    squeeze = _of_bits("squeeze")
    swapaxes = _of_bits("swapaxes")
    diagonal = _of_bits("diagonal")
    repeat = _of_bits("repeat")
    take = _of_bits("take")

    def __getitem__(self, key: Any) -> Array:
        return Array(functions.items_of(self.bits, self._checked_key(key)), self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, Array) or value.dtype != self.dtype:
            value = functions.asarray(value, self.dtype, sycl_queue=self.sycl_queue)
        functions.put_items(self.bits, value.bits, self._checked_key(key))

    def _checked_key(self, key: Any) -> Any:
        if self.dtype in dtypes.PACKED:
            keys = key if isinstance(key, tuple) else (key,)
            if len(keys) >= self.ndim or not all(isinstance(k, (int, slice)) for k in keys):
                raise IndexError(
                    f"Array: {self.dtype} must be indexed by integers and slices before its last "
                    f"axis, got {key!r}"
                )
        return key

    def reshape(self, *shape: Any) -> Array:
        """Return the elements in another shape; one size may be -1."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if self.dtype in dtypes.PACKED:
            sizes = list(sizes)
            if not sizes or sizes[-1] % 2 and sizes[-1] != -1:
                raise ValueError(
                    f"reshape: the last size must be even for {self.dtype}, got {sizes}"
                )
            sizes[-1] = sizes[-1] if sizes[-1] == -1 else sizes[-1] // 2
        return Array(self.bits.reshape(tuple(sizes)), self.dtype)

    def transpose(self, *axes: Any) -> Array:
        """Return a view with permuted axes, reversed by default."""
        return Array(self.bits.transpose(*axes), self.dtype)

    @property
    def data(self) -> Array:
        """The array itself, as torch code expects; setting it writes into the array."""
        return self

    @data.setter
    def data(self, value: Any) -> None:
        if value is self:
            return
        shape, dtype = (str(getattr(value, name, None)) for name in ("shape", "dtype"))
        if (shape, dtype) != (str(self.shape), self.dtype):
            raise ValueError(
                f"data must have shape {self.shape} and dtype {self.dtype}, got {shape} and {dtype}"
            )
        array_writes.assign(self, value)

    @property
    def T(self) -> Array:  # noqa: N802
        """The array with its axes reversed."""
        return Array(self.bits.T, self.dtype)

    def astype(self, dtype: Any) -> Any:
        """Return the values in another dtype, converted on the device."""
        return functions.astype(self, dtype)

    def copy(self) -> Array:
        """Return a copy."""
        return Array(self.bits.copy(), self.dtype)

    def asnumpy(self) -> np.ndarray:
        """Return the values as NumPy's float32, after waiting for them."""
        return asnumpy(self.astype("float32"))

    def item(self) -> float:
        """Return the only element as a Python number."""
        return self.asnumpy().item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values as a NumPy array, by default in the dtype of the package ml_dtypes."""
        if copy is False:
            raise ValueError("np.asarray: an Array is copied to NumPy; copy must not be False")
        return foreign_arrays.to_numpy(self, dtype)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """Return a DLPack capsule, without a copy if the memory allows.

        Data for the CPU is complete when this returns.

        Raises BufferError if the array is of 4-bit numbers, or ``copy`` is False and the CPU cannot
        read its memory.
        """
        return foreign_arrays.capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and number: the CPU's for SYCL's CPU device."""
        return mapping.dlpack_device(self.get_array())

    def __reduce__(self) -> Any:
        return Array.from_bits, (asnumpy(self.bits), self.dtype)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __getattr__(self, name: str) -> Any:
        """Return torch's method or attribute of a name that dpnp's arrays lack."""
        if not name.startswith("_"):
            if name in FACTS:
                return FACTS[name](self)
            own = {"clone": Array.copy, "view": Array.reshape}.get(name)
            method = own or (SWITCHED.get(name) if is_building() else None) or array_method(name)
            if method is not None:
                return functools.partial(method, self)
        raise _torch_habits.missing("array", "'Array' object", name)

    def __repr__(self) -> str:
        values = np.array2string(self.asnumpy(), separator=", ", prefix="Array(")
        return f"Array({values}, dtype={self.dtype})"


def _switched(name: str, of_torch: Callable[..., Any]) -> Any:
    """Return the method ``name``, which is torch's where arrays have torch's methods."""
    own = getattr(Array, name)

    @functools.wraps(own)
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        kwargs = in_torch_words(kwargs)
        is_torch = is_building() and NUMPY_WORDS.isdisjoint(kwargs)
        return (of_torch if is_torch else own)(self, *args, **kwargs)

    return method


for _name, _function in SWITCHED.items():
    if hasattr(Array, _name):
        setattr(Array, _name, _switched(_name, _function))
del _name, _function


def _check_packable(data: Any) -> None:
    strides = data.get_array().strides
    if not strides or (strides[-1] != 1 and data.shape[-1] > 1):
        raise ValueError(
            f"Array: data of 4-bit numbers must be dense along its last axis, got shape "
            f"{data.shape} with strides {strides} (in elements)"
        )


def wrapped(array: Any, dtype: str) -> Any:
    """Return the user's array type over a usm_ndarray."""
    return array_over(allocation.wrap(array), dtype)


def array_over(carrier: Any, dtype: str) -> Any:
    """Return the user's array whose elements a dpnp array holds; inverse of ``carrier``."""
    return Array(carrier, dtype) if dtype in dtypes.CARRIED else carrier


def carrier(array: Any) -> Any:
    """Return the dpnp array that holds the elements of one of the user's arrays."""
    return array.bits if isinstance(array, Array) else array


# --- Checks of the arrays that callers pass for results


class Target(NamedTuple):
    """A caller's array to write to."""

    desc: Any
    #: Whether it partly overlaps an input.
    overlaps: bool
    #: Whether it is one of the inputs.
    in_place: bool


def check_out(name: str, out: Any, collected: Any, queue: Any) -> Any:
    """Check that ``out`` may be written; return its part of the plan's key."""
    kind = out.__class__
    is_array = isinstance(out, (dpnp.ndarray, Array)) and not isinstance(out, Tensor)
    if kind is not dpnp.ndarray and not is_array:
        raise TypeError(f"{name}: out must be a dpnp.ndarray or Array, got {kind.__name__}")
    array = out.get_array()
    if array.sycl_queue is not queue and array.sycl_queue != queue:
        raise ExecutionPlacementError(f"{name}: out must be on the queue of the other arrays")
    if not array.flags.writable:
        raise ValueError(f"{name}: out must be writable, got a read-only array")
    dtype = out.dtype if kind is Array else array.dtype
    return ("out", array.shape, array.strides, dtype, sharing(array, collected.arrays))


def check_strides(name: str, out: Any) -> None:
    """Refuse an array whose elements overlap or whose strides are negative."""
    array = out.get_array()
    if array.size and any(
        s <= 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)
    ):
        raise ValueError(f"{name}: out must have positive strides, got {array.strides}")


def sharing(out: Any, arrays: list[Any]) -> tuple[bool, bool]:
    """Return whether ``out`` overlaps an array, and whether it is one of them."""
    memory = out.usm_data
    start = address(memory)
    end = start + memory.nbytes
    overlaps = same = False
    for array in arrays:
        if array.__class__ is bytes:
            continue
        other = array.usm_data
        begin = address(other)
        if begin < end and start < begin + other.nbytes:
            is_it = address(array) == address(out) and array.strides == out.strides
            same |= is_it
            overlaps |= not is_it
    return overlaps, same
