# SPDX-License-Identifier: Apache-2.0
"""The one table of data types: what oneDNN, NumPy, dpnp and graphs call each, and what it holds.

Everything else about a data type, promotion included, follows from the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sycl_dnn._core import data_type
from sycl_dnn.errors import InvalidArguments


@dataclass(frozen=True)
class DataType:
    """One row of the table.

    short : oneDNN's name; the Graph API's where only that has one
    name : the name that users write and arrays show; ``short`` where no function takes the type
    bits : of one element
    array : NumPy's code of the dtype of arrays that hold it
    digits : bits of an integer's magnitude, or of a mantissa with its hidden bit
    low, high : range of finite numbers
    exponent : bits and bias of a small float's exponent
    carried : whether such arrays hold bits of a type for which dpnp has no dtype
    in_functions, in_graphs : whether ``functional`` and the Graph API have it
    """

    short: str
    name: str
    bits: int
    array: str
    digits: int
    low: float
    high: float
    exponent: tuple[int, int] | None = None
    carried: bool = False
    in_functions: bool = True
    in_graphs: bool = True

    @property
    def data_type(self) -> data_type:
        """OneDNN's member; a bool is a byte that is 0 or 1."""
        return getattr(data_type, "u8" if self.name == "bool" else self.short)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of arrays that hold it."""
        return np.dtype(self.array)

    @property
    def is_float(self) -> bool:
        """Whether it has more than integers."""
        return isinstance(self.high, float)


def _float(
    short: str, name: str, bits: int, array: str, digits: int, high: float, **rest: Any
) -> DataType:
    rest.setdefault("carried", array[0] != "f")
    return DataType(short, name, bits, array, digits, -high, high, **rest)


def _integer(short: str, name: str, bits: int, array: str, **rest: Any) -> DataType:
    is_signed = short[0] == "s"
    digits = bits - is_signed
    low = -(2**digits) if is_signed else 0
    return DataType(short, name, bits, array, digits, low, 2**digits - 1, **rest)


_LOW_LEVEL: dict[str, Any] = {"in_functions": False, "in_graphs": False}
#: Every data type of oneDNN but ``undef``; floating-point types first, the widest of them first.
TABLE: tuple[DataType, ...] = (
    _float("f64", "float64", 64, "f8", 53, float(np.finfo("f8").max), in_graphs=False),
    _float("f32", "float32", 32, "f4", 24, float(np.finfo("f4").max)),
    _float("bf16", "bfloat16", 16, "u2", 8, (2 - 2.0**-7) * 2.0**127),
    _float("f16", "float16", 16, "f2", 11, 65504.0),
    _float("f8_e4m3", "float8_e4m3", 8, "u1", 4, 448.0, exponent=(4, 7)),
    _float("f8_e5m2", "float8_e5m2", 8, "u1", 3, 57344.0, exponent=(5, 15)),
    _float("f4_e2m1", "f4_e2m1", 4, "u1", 2, 6.0, exponent=(2, 1), **_LOW_LEVEL),
    _float("f4_e3m0", "f4_e3m0", 4, "u1", 1, 16.0, exponent=(3, 3), **_LOW_LEVEL),
    # Powers of two only.
    DataType("e8m0", "e8m0", 8, "u1", 1, 2.0**-127, 2.0**127, carried=True, **_LOW_LEVEL),
    _integer("s64", "int64", 64, "i8"),
    _integer("s32", "int32", 32, "i4"),
    _integer("s8", "int8", 8, "i1"),
    _integer("boolean", "bool", 8, "?"),
    _integer("u8", "uint8", 8, "u1"),
    _integer("s4", "int4", 4, "u1", carried=True),
    _integer("u4", "uint4", 4, "u1", carried=True),
)

#: Rows by oneDNN's name.
SHORT: dict[str, DataType] = {row.short: row for row in TABLE}
_MEMBERS: dict[Any, DataType] = {row.data_type: row for row in TABLE if row.name != "bool"}

# --- names that users write ---

_TAKEN = {row.name: row for row in TABLE if row.in_functions}
#: What a tensor's dtype can be and how oneDNN calls it.
DATA_TYPES: dict[str, data_type] = {name: row.data_type for name, row in _TAKEN.items()}
#: oneDNN's member -> what a tensor's dtype is called.
NAMES: dict[data_type, str] = {m: row.name for m, row in _MEMBERS.items() if row.in_functions}
#: Floating-point types, widest last; gradients exist for these.
FLOATS = tuple(name for name, row in reversed(_TAKEN.items()) if row.is_float)
#: What dpnp has no dtype for and an ``Array`` carries.
CARRIED: dict[str, np.dtype] = {name: row.dtype for name, row in _TAKEN.items() if row.carried}
#: Those of them that lie two in a byte.
PACKED = tuple(name for name, row in _TAKEN.items() if row.bits == 4)
#: Names of ml_dtypes that are others here. Its float8_e4m3 has infinities, oneDNN's has none.
_OF_ML_DTYPES = {"float8_e4m3fn": "float8_e4m3", "float8_e4m3": "float8_e4m3 of ml_dtypes"}
TO_ML_DTYPES = {"float8_e4m3": "float8_e4m3fn"}
_OF_DTYPE = {row.dtype: row for row in TABLE if not row.carried}


def name_of(dtype: Any) -> str:
    """Return the name of a dtype given as a name, a NumPy dtype or a scalar type."""
    if isinstance(dtype, str) and dtype in DATA_TYPES:
        return dtype
    try:
        found = np.dtype(dtype)
    except TypeError:
        known = ", ".join(DATA_TYPES)
        raise TypeError(f"dtype must be one of {known}, got {dtype!r}") from None
    row = _OF_DTYPE.get(found)
    return row.name if row else _OF_ML_DTYPES.get(found.name, found.name)


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
    row = _TAKEN.get(dtype)
    return row.bits if row else np.dtype(dtype).itemsize * 8


def array_dtype(dtype: str) -> np.dtype:
    """Return the dtype of the USM array that holds values of ``dtype``."""
    return CARRIED.get(dtype) or np.dtype(dtype)


def wide(dtype: str) -> str:
    """Return the dtype in which functions compute floating-point numbers of a dtype."""
    return "float64" if dtype == "float64" else "float32"


def is_float(dtype: str) -> bool:
    """Whether values of ``dtype`` are floating-point numbers."""
    return dtype in FLOATS


# --- promotion ---


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


#: What a Python number counts as; it never widens an array of the same kind.
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


# --- memory of the low level ---

#: oneDNN's members whose elements lie two in a byte, low half first.
FOUR_BIT = tuple(member for member, row in _MEMBERS.items() if row.bits == 4)


def row_of(member: Any) -> DataType:
    """Return the row of one of oneDNN's data types."""
    found = _MEMBERS.get(member)
    if found is None:
        raise InvalidArguments(f"data_type must be one that arrays can hold, got {member!r}")
    return found


def member_of(name: str, function: str) -> Any:
    """Return the data type that ``name`` names, such as ``"bf16"``."""
    members = data_type.__members__
    if name not in members:
        known = ", ".join(members)
        raise InvalidArguments(f"{function}: data_type must be one of {known}, got {name!r}")
    return members[name]


def data_type_of(dtype: Any) -> Any:
    """Return the data type that a dtype stands for by itself."""
    found = _OF_DTYPE.get(np.dtype(dtype))
    if found is None or found.name == "bool":
        known = ", ".join(str(d) for d, row in _OF_DTYPE.items() if row.name != "bool")
        raise InvalidArguments(f"array must have a dtype that oneDNN knows ({known}), got {dtype}")
    return found.data_type


# --- graphs ---

#: The Graph API's name -> the name that arrays have, and back.
LONG: dict[str, str] = {row.short: row.name for row in TABLE if row.in_graphs}
_GRAPH_NAMES = {long: short for short, long in LONG.items()}


def graph_name(dtype: Any, what: str) -> str:
    """Return the Graph API's name of a data type given by any name, NumPy dtype or scalar type."""
    if isinstance(dtype, str):
        name = dtype
    elif isinstance(getattr(dtype, "name", None), str):
        name = dtype.name
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = repr(dtype)
    if name in LONG:
        return name
    if name in _GRAPH_NAMES:
        return _GRAPH_NAMES[name]
    raise TypeError(f"{what}: dtype must be one of {', '.join(LONG)}, got {name}")


# --- bits ---


def to_bf16_bits(values: Any) -> np.ndarray:
    """Return float32 values as the uint16 bits of bfloat16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits >> 16) & 1) + np.uint32(0x7FFF) + bits
    # Rounding could carry a NaN's bits into an infinity.
    quiet = (bits >> 16) | np.uint32(0x40)
    return np.where(np.isnan(bits.view(np.float32)), quiet, rounded >> 16).astype(np.uint16)
