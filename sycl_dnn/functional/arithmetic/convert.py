# SPDX-License-Identifier: Apache-2.0
"""Dtype conversions: ``asarray``, ``astype``, ``tensor`` and ``from_numpy``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dpnp
import numpy as np

from sycl_dnn._dpnp import array_in
from sycl_dnn.call.custom_gradients import stop_gradient
from sycl_dnn.call.operation import operation
from sycl_dnn.call.torch_keywords import check_requires_grad
from sycl_dnn.device import default_queue
from sycl_dnn.ir.node import Shape
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower import complex_values
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace import functions as F
from sycl_dnn.trace import layout
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.foreign_arrays import bits_of
from sycl_dnn.trace.module_arrays import in_manner
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.frozen import Frozen


#: Dtypes that oneDNN converts: it rounds as dpnp does, or dpnp lacks the dtype.
_BY_ONEDNN = ("float32", *dtypes.CARRIED)


def converted(x: Tensor, dtype: str) -> Tensor:
    """Convert a tensor: floats are rounded to nearest, conversions to integers truncate."""
    if x.dtype == dtype:
        return x
    if dtypes.is_complex(dtype) or dtypes.is_complex(x.dtype):
        return _of_complex(x, dtype)
    if dtype in dtypes.PACKED:
        return _packed(x, dtype)
    if x.dtype in _BY_ONEDNN and dtype in _BY_ONEDNN:
        return x.trace.convert(x, dtype, inserted=False)
    if x.dtype in dtypes.CARRIED or dtype in dtypes.CARRIED:
        return converted(converted(x, "float32"), dtype)
    return computed(lambda node: cast(node, dtype), x)


def _of_complex(x: Tensor, dtype: str) -> Tensor:
    """Convert to or from complex numbers, whose imaginary parts other dtypes drop, as in torch."""
    if not dtypes.is_complex(x.dtype):
        return complex_values.complex_conversion(converted(x, dtypes.part_of(dtype)), dtype)
    if dtypes.is_complex(dtype):
        return complex_values.complex_conversion(x, dtype)
    return converted(complex_values.parts(x)[0], dtype)


def _packed(x: Tensor, dtype: str) -> Tensor:
    """Convert to 4-bit integers via float32: from other dtypes oneDNN writes zeros."""
    if not x.ndim or x.shape[-1] % 2:
        raise ValueError(f"astype: the last axis must be even for {dtype}, got shape {x.shape}")
    wide = converted(x, "float32")
    result = x.trace.reorder(wide, layout.row_major(x.shape, dtype), inserted=False)
    return x.trace.view(wide, result, lambda grad: grad)


def constant_call(
    trace: Any, function: Callable[..., Any], inputs: Sequence[Tensor], shape: Shape, dtype: str
) -> Tensor:
    """Record a call over dpnp arrays with one result, which is a constant to gradients."""
    return trace.array_call(function, inputs, [Out(shape, dtype)], lambda entry, grads: {})[0]


class Parts(NamedTuple):
    """A tensor split into tensors that kernels can process: one, or real and imaginary parts."""

    tensors: list[Tensor]
    #: Reassembles a tensor of any shape from its parts.
    joined: Callable[[list[Tensor]], Tensor]


def in_parts(x: Tensor) -> Parts:
    """Split a tensor of any dtype into parts that kernels can move, select and add."""
    dtype = str(x.dtype)
    if dtype in REGISTERS:
        return Parts([x], lambda parts: parts[0])
    if dtype in dtypes.CARRIED:
        return Parts([x.trace.convert(x, "float32")], lambda parts: converted(parts[0], dtype))
    return Parts(list(complex_values.parts(x)), lambda parts: complex_values.joined(*parts))


@operation
def _astype(input, dtype):
    return converted(input, dtype)


def astype(
    x: dpnp.ndarray | Array | Frozen, dtype: str | np.dtype | type
) -> dpnp.ndarray | Array | Frozen:
    """Convert an array to another dtype on its device.

    Parameters
    ----------
    x : array of any shape and dtype
    dtype : str, NumPy dtype or scalar type
        Also ``"bfloat16"``, ``"float8_e4m3"``, ``"float8_e5m2"``, ``"int4"``, ``"uint4"``.

    Returns
    -------
    dpnp.ndarray, or Array for a dtype that dpnp lacks
        ``x`` itself if it already has the dtype.

    Raises
    ------
    TypeError
        ``dtype`` is unknown.
    ValueError
        The result is 4-bit and its last axis has odd length.

    Notes
    -----
    Floats are rounded to nearest even; bfloat16 values below 2**-126 become 0. Conversions to
    integers truncate, as in torch; int4 and uint4 round and saturate. Values above 448 overflow to
    NaN in float8_e4m3, where torch saturates; float8_e5m2 has infinities.

    Source: oneDNN developer guide, "Reorder" and "Data Types".
    """
    name = dtypes.name_of(dtype)
    current = x.dtype if isinstance(x, (Array, Tensor)) else dtypes.name_of(x.dtype)
    return x if name == current else _astype(x, name)


def asarray(
    x: Any, dtype: str | np.dtype | type | None = None, **kwargs: Any
) -> dpnp.ndarray | Array:
    """Convert array-like data to an array, including dtypes that dpnp lacks.

    Parameters
    ----------
    x : array_like
        Whatever ``dpnp.asarray`` accepts, ``Array``, NumPy arrays with dtypes of ml_dtypes, and
        arrays with ``__dlpack__`` such as PyTorch's, including bfloat16 and float8. In a traced
        function also traced arrays, and lists of those of one shape.
    dtype : str, NumPy dtype or scalar type, optional
        As for ``astype``; by default that of ``x``. Python floats become float64, as in NumPy and
        dpnp; use ``tensor`` or a factory to get float32 as in torch.
    **kwargs
        Passed to ``dpnp.asarray``: ``sycl_queue``, ``device``, ``usm_type``...

    Returns
    -------
    dpnp.ndarray or Array

    Raises
    ------
    TypeError
        ``dtype`` is unknown.
    """
    traced = _first_traced(x)
    if traced is not None:
        x = _stacked(x, traced)
    if isinstance(x, Array) and kwargs:
        data = array_in(x.bits, None, **kwargs)
        x = x if data is x.bits else Array.from_bits(data, x.dtype)
    if isinstance(x, (Array, Tensor)):
        return x if dtype is None else astype(x, dtype)
    bits_and_dtype = bits_of(x)
    if bits_and_dtype is not None:
        bits, bits_dtype = bits_and_dtype
        if bits_dtype in dtypes.PACKED:
            return asarray(x.astype("float32"), dtype or bits_dtype, **kwargs)
        return asarray(Array.from_bits(bits, bits_dtype, **kwargs), dtype)
    name = None if dtype is None else dtypes.name_of(dtype)
    if name not in dtypes.CARRIED:
        return array_in(x, dtype, **kwargs)
    return astype(dpnp.asarray(x, dtype="float32", **kwargs), name)


def _first_traced(x: Any) -> Tensor | None:
    """Return the first traced array in ``x`` or its nested lists."""
    if isinstance(x, (list, tuple)) and running_trace() is not None:
        return next((v for v in map(_first_traced, x) if v is not None), None)
    return x if isinstance(x, Tensor) else None


def _stacked(x: Any, first: Tensor) -> Any:
    """Stack nested lists of traced arrays and numbers; numbers get the dtype of ``first``."""
    if isinstance(x, (list, tuple)):
        return F.stack([_stacked(item, first) for item in x])
    return x if isinstance(x, Tensor) else tensor(x, dtype=first.dtype)


def from_numpy(ndarray: np.ndarray) -> dpnp.ndarray | Array:
    """Copy a NumPy array to the default device; unlike torch, memory is not shared.

    Parameters
    ----------
    ndarray : numpy.ndarray (*)

    Returns
    -------
    dpnp.ndarray or Array (*)
        Same dtype.

    Raises
    ------
    TypeError
        ``ndarray`` is not a NumPy array.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(
            f"from_numpy: ndarray must be a numpy.ndarray, got {type(ndarray).__name__}"
        )
    trace = running_trace()
    queue = default_queue() if trace is None else trace.queue
    return _as_running_code_expects(asarray(ndarray, sycl_queue=queue))


def _as_running_code_expects(array: Any, is_known: bool = False) -> Any:
    """Return the array as a traced value in a trace, or with torch's methods in an ``__init__``.

    ``is_known``: whether it is made of Python numbers.
    """
    trace = running_trace()
    if trace is None:
        return in_manner(array)
    return trace.made(array, is_known) if hasattr(trace, "made") else trace.capture(array)


#: Dtypes of arrays of Python numbers, by NumPy's dtype.
_OF_PYTHON = {"float64": "float32", "complex128": "complex64"}


def tensor(
    data: Any, *, dtype: str | np.dtype | type | None = None, device: Any = None,
    requires_grad: bool = False,
) -> dpnp.ndarray | Array:  # fmt: skip
    """Create an array from numbers, nested lists or another array, as ``torch.tensor``.

    Parameters
    ----------
    data : array_like
    dtype : str, NumPy dtype or scalar type, optional
        By default that of an array; for Python values int64, bool, float32 or complex64.
    device : dpctl.SyclQueue, dpctl.SyclDevice or str, optional
        The default device if omitted.
    requires_grad : bool
        Must be False: gradients are taken with respect to arguments and module parameters.

    Returns
    -------
    dpnp.ndarray or Array (*)
        A copy; of traced arrays a constant to gradients.

    Raises
    ------
    TypeError
        ``requires_grad`` is true, or ``dtype`` is unknown.
    """
    check_requires_grad("tensor", requires_grad)
    if _first_traced(data) is not None:
        return stop_gradient(asarray(data, dtype))
    place: dict[str, Any] = {}
    if device is not None or not hasattr(data, "sycl_queue"):
        trace = running_trace()
        here = trace is not None and device is None
        place["sycl_queue"] = trace.queue if here else default_queue(device)
    is_known = not hasattr(data, "shape")
    if is_known:
        data = np.asarray(data)
        dtype = dtype or _OF_PYTHON.get(data.dtype.name, data.dtype.name)
    result = asarray(data, dtype, **place)
    return _as_running_code_expects(result.copy() if result is data else result, is_known)
