# SPDX-License-Identifier: Apache-2.0
"""The table of data types: their names in oneDNN, NumPy, dpnp and graphs, and their properties.

All knowledge about a data type, including promotion, derives from this table.
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

    short : oneDNN's name; the Graph API's if only it has one
    name : the name in arrays and arguments; ``short`` if no function supports the type
    bits : per element
    array : NumPy's code of the array dtype that stores it
    digits : bits of an integer's magnitude, or of a significand including the hidden bit
    low, high : range of finite values
    exponent : bits and bias of a small float's exponent
    carried : whether arrays store raw bits because dpnp lacks the dtype
    in_functions, in_graphs : whether ``functional`` and the Graph API support it
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
        """The enumerator of oneDNN; a bool is a byte with value 0 or 1."""
        return getattr(data_type, "u8" if self.name == "bool" else self.short)

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype of arrays that store it."""
        return np.dtype(self.array)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
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
#: Every data type of oneDNN except ``undef``; floating-point types first, in order of width.
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

# --- names in arrays and arguments ---

_USABLE = {row.name: row for row in TABLE if row.in_functions}
#: Integers that oneDNN lacks: descriptors use the type of the same width.
#: Only generated kernels compute with them.
STAND_INS = {
    "int16": data_type.bf16, "uint16": data_type.bf16, "uint32": data_type.s32,
    "uint64": data_type.s64,
}  # fmt: skip
#: oneDNN's enumerators by dtype name.
DATA_TYPES: dict[str, data_type] = {n: row.data_type for n, row in _USABLE.items()} | STAND_INS
#: The inverse: dtype names by enumerator.
NAMES: dict[data_type, str] = {m: row.name for m, row in _MEMBERS.items() if row.in_functions}
#: Floating-point types in increasing width; only they have gradients.
FLOATS = tuple(name for name, row in reversed(_USABLE.items()) if row.is_float)
_FLOATING = frozenset(FLOATS)
#: Complex types, which oneDNN lacks, with the type of their parts: it sees pairs of these.
COMPLEX = {"complex64": "float32", "complex128": "float64"}
_OF_PARTS = {part: name for name, part in COMPLEX.items()}
#: Types that dpnp lacks and ``Array`` carries.
CARRIED: dict[str, np.dtype] = {name: row.dtype for name, row in _USABLE.items() if row.carried}
#: Those with two elements per byte.
PACKED = tuple(name for name, row in _USABLE.items() if row.bits == 4)
#: Names that mean something else in ml_dtypes: its float8_e4m3 has infinities, oneDNN's does not.
_OF_ML_DTYPES = {"float8_e4m3fn": "float8_e4m3", "float8_e4m3": "float8_e4m3 of ml_dtypes"}
TO_ML_DTYPES = {"float8_e4m3": "float8_e4m3fn"}
_OF_DTYPE = {row.dtype: row for row in TABLE if not row.carried}


def name_of(dtype: Any) -> str:
    """Return the name of a dtype passed as a name, NumPy dtype or scalar type."""
    if isinstance(dtype, str) and dtype in DATA_TYPES:
        return dtype
    try:
        kind = np.dtype(dtype)
    except TypeError:
        choices = ", ".join(DATA_TYPES)
        raise TypeError(f"dtype must be one of {choices}, got {dtype!r}") from None
    row = _OF_DTYPE.get(kind)
    return row.name if row else _OF_ML_DTYPES.get(kind.name, kind.name)


class DtypeName(str):
    """The dtype name of a traced array; compares equal to whatever an array's dtype equals."""

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
        """The plain name."""
        return str(self)

    @property
    def itemsize(self) -> int:
        """Bytes per element, rounded up for 4-bit integers."""
        return (bits_of(str(self)) + 7) // 8

    @property
    def kind(self) -> str:
        """NumPy's kind: b, i, u, f or c."""
        return "f" if is_float(str(self)) else str(self)[0]


def bits_of(dtype: str) -> int:
    """Return the bits per element."""
    row = _USABLE.get(dtype)
    return row.bits if row else np.dtype(dtype).itemsize * 8


def array_dtype(dtype: str) -> np.dtype:
    """Return the dtype of the USM array that stores values of ``dtype``."""
    return CARRIED.get(dtype) or np.dtype(dtype)


def described_dtype(dtype: str) -> np.dtype:
    """Return the dtype of the arrays behind descriptors of ``dtype``."""
    return row_of(DATA_TYPES[dtype]).dtype


def wide(dtype: str) -> str:
    """Return the dtype in which functions compute values of a floating-point dtype."""
    return "float64" if dtype == "float64" else "float32"


def is_float(dtype: str) -> bool:
    """Whether ``dtype`` is floating point."""
    return str(dtype) in _FLOATING


def is_complex(dtype: str) -> bool:
    """Whether ``dtype`` is of complex numbers."""
    return str(dtype) in COMPLEX


def part_of(dtype: str) -> str:
    """Return the dtype of the real and the imaginary part of a complex dtype; others unchanged."""
    return COMPLEX.get(str(dtype), str(dtype))


def complex_of(dtype: str) -> str:
    """Return the complex dtype whose parts have a dtype, or hold its numbers."""
    return dtype if dtype in COMPLEX else _OF_PARTS[wide(dtype)]


def has_gradients(dtype: str) -> bool:
    """Whether arrays of ``dtype`` have gradients: floating-point and complex numbers."""
    return str(dtype) in _FLOATING or str(dtype) in COMPLEX


# --- promotion ---


#: The first words of the names of torch's classes of arrays, by dtype.
TENSOR_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool",
}  # fmt: skip


def tensor_name(dtype: str) -> str:
    """Return the name of torch's class of arrays of a dtype: ``"LongTensor"``."""
    return f"{TENSOR_NAMES.get(str(dtype), str(dtype))}Tensor"


def promote(*names: str) -> str:
    """Return the promoted dtype, by torch's rules.

    Complex numbers win over floats, and floats over integers, regardless of width; float16 and
    bfloat16 promote to float32.
    """
    kinds = set(names)
    if len(kinds) == 1:
        return names[0]
    if not kinds.isdisjoint(COMPLEX):
        return "complex128" if kinds & {"complex128", "float64"} else "complex64"
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


#: Python numbers promote like these, but do not widen arrays of the same kind.
_OF_NUMBERS = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}


def result_dtype(*operands: Any) -> str:
    """Return the result dtype of tensors and Python numbers, by torch's rules.

    Arrays take precedence over 0-d arrays, and those over numbers; lower categories matter only if
    their kind (bool, integer, float, complex) is higher.
    """
    ranked: list[list[str]] = [[], [], []]
    for value in operands:
        if type(value) in _OF_NUMBERS:
            ranked[2].append(_OF_NUMBERS[type(value)])
        else:
            ranked[0 if value.shape else 1].append(value.dtype)
    matches = [promote(*names) for names in ranked if names]
    highest = max(matches, key=_kind)  # the first one on ties
    if highest in COMPLEX and matches[0] not in COMPLEX:
        # A number or an array without axes makes floats complex, not wider.
        return _OF_PARTS[wide(matches[0])] if is_float(matches[0]) else highest
    return highest


def _kind(name: str) -> int:
    return 3 if name in COMPLEX else 0 if name == "bool" else 2 if is_float(name) else 1


# --- memory of the low level ---

#: oneDNN's 4-bit types: two elements per byte, low half first.
FOUR_BIT = tuple(member for member, row in _MEMBERS.items() if row.bits == 4)


def row_of(member: Any) -> DataType:
    """Return the row of an enumerator."""
    result = _MEMBERS.get(member)
    if result is None:
        raise InvalidArguments(f"data_type must be one that arrays can hold, got {member!r}")
    return result


def member_of(name: str) -> Any:
    """Return the enumerator that ``name`` refers to, such as ``"bf16"``."""
    members = data_type.__members__
    if name not in members:
        choices = ", ".join(members)
        raise InvalidArguments(f"desc_of_array: data_type must be one of {choices}, got {name!r}")
    return members[name]


def data_type_of(dtype: Any) -> Any:
    """Return the data type that a dtype determines by itself."""
    entry = _OF_DTYPE.get(np.dtype(dtype))
    if entry is None or entry.name == "bool":
        choices = ", ".join(str(d) for d, row in _OF_DTYPE.items() if row.name != "bool")
        raise InvalidArguments(
            f"array must have a dtype that oneDNN knows ({choices}), got {dtype}"
        )
    return entry.data_type


# --- graphs ---

#: Array dtype by Graph API name, and the inverse.
LONG: dict[str, str] = {row.short: row.name for row in TABLE if row.in_graphs}
_GRAPH_NAMES = {long: short for short, long in LONG.items()}


def graph_name(dtype: Any, caller: str) -> str:
    """Return the Graph API's name of a data type, given any name, NumPy dtype or scalar type."""
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
    raise TypeError(f"{caller}: dtype must be one of {', '.join(LONG)}, got {name}")


# --- bits ---


def to_bf16_bits(values: Any) -> np.ndarray:
    """Round float32 to bfloat16 (nearest even) and return the bits as uint16."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits >> 16) & 1) + np.uint32(0x7FFF) + bits
    # Rounding could turn a NaN into an infinity.
    quiet = (bits >> 16) | np.uint32(0x40)
    return np.where(np.isnan(bits.view(np.float32)), quiet, rounded >> 16).astype(np.uint16)
