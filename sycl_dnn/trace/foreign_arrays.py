# SPDX-License-Identifier: Apache-2.0
"""Exchange of arrays whose dtype dpnp lacks with other libraries, through ml_dtypes and DLPack.

dpnp and NumPy exchange the bits as integers; only the dtype in the capsule is rewritten.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from sycl_dnn._dpnp import asnumpy
from sycl_dnn.onednn import dtypes, mapping

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array

#: DLPack's codes for floats without a NumPy dtype, and for unsigned integers.
_CODES = {"bfloat16": 4, "float8_e4m3": 10, "float8_e5m2": 12}
_NAMES = {(code, dtypes.CARRIED[n].itemsize * 8): n for n, code in _CODES.items()}
_UNSIGNED = 1
_CPU = 1


def to_numpy(array: Array, dtype: Any) -> np.ndarray:
    """Return the values of an ``Array``; its own dtype is one of ml_dtypes'."""
    if dtype is not None:
        return array.asnumpy().astype(dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"np.asarray: NumPy has no {array.dtype} without the package ml_dtypes; install it, or "
            "use asnumpy(), which gives float32"
        ) from None
    kind = getattr(ml_dtypes, dtypes.TO_ML_DTYPES.get(array.dtype, array.dtype))
    if array.dtype in dtypes.PACKED:
        return array.asnumpy().astype(kind)
    return asnumpy(array.bits).view(kind)


def bits_of(x: Any) -> tuple[Any, str] | None:
    """Return the bits of a foreign array as integers, and their dtype; None if it is not one.

    Bits of PyTorch's CPU arrays are shared, not copied.
    """
    if isinstance(x, np.ndarray):
        name = dtypes.name_of(x.dtype)
        if name not in dtypes.CARRIED:
            return None
        return (None, name) if name in dtypes.PACKED else (x.view(dtypes.CARRIED[name]), name)
    if not hasattr(x, "__dlpack__") or hasattr(x, "__sycl_usm_array_interface__"):
        return None
    capsule = x.__dlpack__()
    field = _dtype_of(capsule)
    dtype = _NAMES.get((field.code, field.bits))
    if dtype is None:
        return None
    field.code = _UNSIGNED
    import_function = np.from_dlpack if x.__dlpack_device__()[0] == _CPU else dpnp.from_dlpack
    return import_function(_Exporter(capsule, x.__dlpack_device__())), dtype


def capsule(array: Array, stream: Any, version: Any, device: Any, copy: bool | None) -> Any:
    """Return the capsule of an ``Array``; parameters are those of ``__dlpack__``."""
    if array.dtype in dtypes.PACKED:
        raise BufferError(
            f"__dlpack__: an Array must not be of 4-bit numbers, got {array.dtype}; use astype"
        )
    exported = mapping.capsule(array.get_array(), stream, version, device, copy)
    _dtype_of(exported).code = _CODES[array.dtype]
    return exported


class _Exporter:
    """Passes on a capsule."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


#: Bytes before the dtype in DLTensor, and before that in the two structures that capsules hold.
_DTYPE = 20
_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)


def _dtype_of(capsule: Any) -> Any:
    """Return the dtype that a capsule declares, to be read and written."""
    name = _name(capsule)
    return _DataType.from_address(_pointer(capsule, name) + _TENSOR[name] + _DTYPE)
