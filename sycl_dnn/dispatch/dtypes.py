# SPDX-License-Identifier: Apache-2.0
"""Names of dtypes, as users write them, and oneDNN's data types."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn._core import data_type

#: What a tensor's dtype can be and how oneDNN calls it.
DATA_TYPES: dict[str, data_type] = {
    "float64": data_type.f64,
    "float32": data_type.f32,
    "float16": data_type.f16,
    "bfloat16": data_type.bf16,
    "float8_e5m2": data_type.f8_e5m2,
    "float8_e4m3": data_type.f8_e4m3,
    "int64": data_type.s64,
    "int32": data_type.s32,
    "int8": data_type.s8,
    # A byte that is 0 or 1; what oneDNN makes of it is uint8.
    "bool": data_type.u8,
    "uint8": data_type.u8,
    "int4": data_type.s4,
    "uint4": data_type.u4,
}
NAMES = {kind: name for name, kind in DATA_TYPES.items()}
#: Floating-point types, widest last; gradients exist for these.
FLOATS = ("float8_e5m2", "float8_e4m3", "float16", "bfloat16", "float32", "float64")
#: What dpnp has no dtype for and an ``Array`` carries.
CARRIED: dict[str, np.dtype] = {
    "bfloat16": np.dtype("u2"),
    "float8_e5m2": np.dtype("u1"),
    "float8_e4m3": np.dtype("u1"),
    "int4": np.dtype("u1"),
    "uint4": np.dtype("u1"),
}
#: Those of them that lie two in a byte.
PACKED = ("int4", "uint4")
_NUMPY_NAMES = {np.dtype(n): n for n in ("f8", "f4", "f2", "i8", "i4", "i1", "u1")}
_NUMPY_NAMES = {dtype: dtype.name for dtype in _NUMPY_NAMES}
_BITS = {"int4": 4, "uint4": 4, "float8_e5m2": 8, "float8_e4m3": 8, "bfloat16": 16}


def name_of(dtype: Any) -> str:
    """Return the name of a dtype given as a name, a NumPy dtype or a scalar type."""
    if isinstance(dtype, str) and dtype in DATA_TYPES:
        return dtype
    try:
        return _NUMPY_NAMES.get(found := np.dtype(dtype), found.name)
    except TypeError:
        known = ", ".join(DATA_TYPES)
        raise TypeError(f"dtype must be one of {known}, got {dtype!r}") from None


class DtypeName(str):
    """The name of a traced array's dtype, equal to all that an array's dtype is equal to."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        if other is None:
            return False
        try:
            return str.__eq__(self, np.dtype(other).name)  # type: ignore[call-overload]
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    @property
    def name(self) -> str:
        """The name alone."""
        return str(self)

    @property
    def itemsize(self) -> int:
        """Bytes of one element, of 4-bit integers rounded up."""
        return (bits_of(str(self)) + 7) // 8

    @property
    def kind(self) -> str:
        """NumPy's letter: b, i, u or f."""
        return "f" if is_float(str(self)) else str(self)[0]


def bits_of(dtype: str) -> int:
    """Return the bits of one element."""
    return _BITS.get(dtype) or np.dtype(dtype).itemsize * 8


def array_dtype(dtype: str) -> np.dtype:
    """Return the dtype of the USM array that holds values of ``dtype``."""
    return CARRIED.get(dtype) or np.dtype(dtype)


def is_float(dtype: str) -> bool:
    """Whether values of ``dtype`` are floating-point numbers."""
    return dtype in FLOATS


def promote(*names: str) -> str:
    """Return the dtype that holds all of these, by torch's rules.

    Floats win over integers whatever their width; float16 and bfloat16 meet in float32.
    """
    kinds = set(names)
    if len(kinds) == 1:
        return names[0]
    floats = {n for n in kinds if is_float(n)}
    if not floats:
        return _promoted_integers(kinds)
    if len(floats) == 1:
        return floats.pop()
    return "float64" if "float64" in floats else "float32"


def _promoted_integers(kinds: set[str]) -> str:
    if kinds & set(CARRIED):
        raise TypeError(f"{' and '.join(sorted(kinds))} have no common dtype; use astype")
    return np.result_type(*(np.dtype(n) for n in kinds)).name


#: What a Python number counts as; it never widens an array of its own kind.
_OF_NUMBERS = {bool: "bool", int: "int64", float: "float32"}


def result_dtype(*operands: Any) -> str:
    """Return the dtype of an operation on tensors and Python numbers, by torch's rules.

    Arrays decide before arrays without axes, and those before numbers; who comes later decides
    only if its kind (bool, integer, float) is higher.
    """
    ranked: list[list[str]] = [[], [], []]
    for value in operands:
        if type(value) in _OF_NUMBERS:
            ranked[2].append(_OF_NUMBERS[type(value)])
        else:
            ranked[0 if value.shape else 1].append(value.dtype)
    found = [promote(*names) for names in ranked if names]
    return max(found, key=_kind)  # of equal kinds the first


def _kind(name: str) -> int:
    return 0 if name == "bool" else 2 if is_float(name) else 1
