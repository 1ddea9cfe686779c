# SPDX-License-Identifier: Apache-2.0
"""Expressions, the shape-independent computation of a kernel, and code generation per operation."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple

from sycl_dnn.kernels.accurate_functions import ACCURATE, cos_of_small, erfinv, exp_nonpositive
from sycl_dnn.kernels.log_gamma import log_gamma
from sycl_dnn.kernels.spirv import TYPES, Kernel, Value

#: Register type by dtype; narrow floats are computed in f32 and rounded.
REGISTERS = {
    "float64": "f64", "float32": "f32", "float16": "f32", "bfloat16": "f32", "bool": "bool",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
#: Supported reductions; their axes are properties of the kernel, not of the expression.
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
#: Supported scans; their axis is a property of the kernel.
SCANS = (
    "cumsum", "cumprod", "cummax", "cummin", "cummax_index", "cummin_index", "logcumsumexp",
    "linear_recurrence",
)  # fmt: skip
#: Operations that depend on the position of an element.
INDEXED = ("iota", "gather")
#: Memory type if it differs from the register type.
IN_MEMORY = {"float16": "f16", "bfloat16": "u16", "bool": "u8"}


class Term(NamedTuple):
    """One operation; operands are indices, counting inputs of the expression first."""

    operation: str
    dtype: str
    operands: tuple[int, ...]
    attributes: tuple[Any, ...]


class Source(NamedTuple):
    """An array from which a kernel gathers: dtype and number of indices."""

    dtype: str
    n_indices: int


class Expression(NamedTuple):
    """The computation of a kernel per element, independent of shapes.

    inputs : dtypes of the inputs
    results : indices of the terms, or inputs, to store
    sources : arrays of the gathering terms, in order
    n_places : number of element coordinates that terms read
    n_passed : number of 32-bit integers that are arguments of a launch
    """

    inputs: tuple[str, ...]
    terms: tuple[Term, ...]
    results: tuple[int, ...]
    sources: tuple[Source, ...] = ()
    n_places: int = 0
    n_passed: int = 0

    @property
    def first_result(self) -> int:
        """Index of the first result among a kernel's arrays, after inputs, sources, coordinates."""
        return len(self.inputs) + len(self.sources) + self.n_places

    @property
    def n_indices(self) -> int:
        """Total number of indices of all gathers."""
        return sum(source.n_indices for source in self.sources)

    def array_of(self, term: Term) -> int:
        """Return the index of the array that a term of ``INDEXED`` reads."""
        attributes = dict(term.attributes)
        if term.operation == "gather":
            return len(self.inputs) + int(attributes["source"])
        return len(self.inputs) + len(self.sources) + int(attributes["place"])

    def dtype_of(self, number: int) -> str:
        """Return the dtype of an input or a term."""
        n_inputs = len(self.inputs)
        return self.inputs[number] if number < n_inputs else self.terms[number - n_inputs].dtype

    def operands_of(self, number: int) -> tuple[int, ...]:
        """Return the operands of a term; empty for inputs."""
        n_inputs = len(self.inputs)
        return () if number < n_inputs else self.terms[number - n_inputs].operands

    @property
    def reductions(self) -> list[int]:
        """Indices of the terms that are reductions."""
        terms = enumerate(self.terms, len(self.inputs))
        return [n for n, term in terms if term.operation in REDUCTIONS]

    def needed(self, roots: Iterable[int], ends: Container[int] = ()) -> list[int]:
        """Return roots and their dependencies in order, stopping at ``ends``."""
        reached: set[int] = set()
        stack = list(roots)
        while stack:
            n = stack.pop()
            if n not in reached and n not in ends:
                reached.add(n)
                stack.extend(self.operands_of(n))
        return sorted(reached)


def number_of(value: Any) -> Any:
    """Return the number that an attribute of a term represents."""
    return float.fromhex(value[1]) if isinstance(value, tuple) else value


# --- Code generation of operations

Writer = Callable[..., Value]


def _simple(instruction: str) -> Writer:
    return lambda k, x: k.call(instruction, x)


_ACCURATE = {**ACCURATE, "lgamma": log_gamma}


def _accurate(name: str) -> Writer:
    """Compute float32 more accurately than the instruction."""

    def write(k: Kernel, *operands: Value) -> Value:
        if operands[0].type == "f32":
            return _ACCURATE[name](k, *operands)
        return k.call(name, *operands)

    return write


def _is_float(v: Value) -> bool:
    return TYPES[v.type][1] == "f"


def _constant(k: Kernel, value: float, like: Value) -> Value:
    return k.constant(value, like.type)


def _as_bool(k: Kernel, v: Value) -> Value:
    return k.converted(v, "bool")


def _abs(k: Kernel, x: Value) -> Value:
    return k.call("abs", x) if TYPES[x.type][1] in "fi" else x


def _sign(k: Kernel, x: Value) -> Value:
    zero, one = _constant(k, 0, x), _constant(k, 1, x)
    positive = k.select(k.call("gt", x, zero), one, zero)
    if TYPES[x.type][1] not in "fi":
        return positive
    return k.select(k.call("lt", x, zero), _constant(k, -1, x), positive)


def _sigmoid(k: Kernel, x: Value) -> Value:
    one, x = _constant(k, 1, x), k.call("neg", x)
    if x.type == "f32":  # up to where the exponential is infinite; NaN passes
        most = _constant(k, 88.5, x)
        x = k.select(k.call("lt", most, x), most, x)
    power = exp_nonpositive(k, x)
    return k.call("div", one, k.call("add", one, power))


def _test(instruction: str) -> Writer:
    """Test for NaN and infinity; false for integers."""

    def write(k: Kernel, x: Value) -> Value:
        return k.call(instruction, x) if _is_float(x) else k.constant(0, "bool", x.width)

    return write


def _is_finite(k: Kernel, x: Value) -> Value:
    either = k.call("or", _test("isnan")(k, x), _test("isinf")(k, x))
    return _not(k, either)


def _logical(instruction: str) -> Writer:
    return lambda k, a, b: k.call(instruction, _as_bool(k, a), _as_bool(k, b))


def _logical_xor(k: Kernel, a: Value, b: Value) -> Value:
    """Exclusive or."""
    a, b = _as_bool(k, a), _as_bool(k, b)
    first = k.call("and", a, _not(k, b))
    return k.call("or", first, k.call("and", _not(k, a), b))


def _bitwise(instruction: str) -> Writer:
    return lambda k, a, b: k.call(instruction, a, b)


def _compared(instruction: str) -> Writer:
    def write(k: Kernel, a: Value, b: Value) -> Value:
        if a.type == "bool":
            a, b = k.converted(a, "u8"), k.converted(b, "u8")
        return k.call(instruction, a, b)

    return write


def _extreme(instruction: str) -> Writer:
    def write(k: Kernel, a: Value, b: Value) -> Value:
        wins = k.call(instruction, a, b)
        if not _is_float(a):
            return k.select(wins, a, b)
        # NaN in the first operand passes by the isnan test, in the second by a false comparison.
        stays = k.call("or", wins, k.call("isnan", a))
        return k.select(stays, a, b)

    return write


def _safe(k: Kernel, b: Value) -> tuple[Value, Value, Value | None]:
    """Return a divisor that does not trap, and where the original is 0 and -1."""
    is_zero = k.call("eq", b, _constant(k, 0, b))
    one = _constant(k, 1, b)
    if TYPES[b.type][1] == "u":
        return k.select(is_zero, one, b), is_zero, None
    is_minus_one = k.call("eq", b, _constant(k, -1, b))
    return k.select(k.call("or", is_zero, is_minus_one), one, b), is_zero, is_minus_one


def _integer_quotient(k: Kernel, a: Value, b: Value) -> Value:
    """Division truncated toward 0; 0 for a zero divisor. Minimum over -1 wraps."""
    divisor, is_zero, is_minus_one = _safe(k, b)
    quotient = k.call("div", a, divisor)
    if is_minus_one is not None:
        quotient = k.select(is_minus_one, k.call("neg", a), quotient)
    return k.select(is_zero, _constant(k, 0, a), quotient)


def _integer_rest(k: Kernel, a: Value, b: Value) -> Value:
    divisor, is_zero, is_minus_one = _safe(k, b)
    rest = k.call("rem", a, divisor)
    either = is_zero if is_minus_one is None else k.call("or", is_zero, is_minus_one)
    return k.select(either, _constant(k, 0, a), rest)


def _signs_differ(k: Kernel, rest: Value, b: Value) -> Value:
    """Whether a remainder is nonzero and differs in sign from the divisor."""
    zero = _constant(k, 0, b)
    above = k.call("and", k.call("lt", b, zero), k.call("gt", rest, zero))
    below = k.call("and", k.call("gt", b, zero), k.call("lt", rest, zero))
    return k.call("or", above, below)


def _fmod(k: Kernel, a: Value, b: Value) -> Value:
    return k.call("fmod", a, b) if _is_float(a) else _integer_rest(k, a, b)


def _remainder(k: Kernel, a: Value, b: Value) -> Value:
    rest = _fmod(k, a, b)
    return k.select(_signs_differ(k, rest, b), k.call("add", rest, b), rest)


def _trunc_divide(k: Kernel, a: Value, b: Value) -> Value:
    if not _is_float(a):
        return _integer_quotient(k, a, b)
    return k.call("trunc", k.call("div", a, b))


def _floor_divide(k: Kernel, a: Value, b: Value) -> Value:
    rest = _fmod(k, a, b)
    if not _is_float(a):
        quotient = _integer_quotient(k, a, b)
        lower = k.call("sub", quotient, _constant(k, 1, a))
        return k.select(_signs_differ(k, rest, b), lower, quotient)
    # As in torch: from the exact remainder, so that rounding cannot reach the next integer.
    quotient = k.call("div", k.call("sub", a, rest), b)
    one = _constant(k, 1, a)
    quotient = k.select(_signs_differ(k, rest, b), k.call("sub", quotient, one), quotient)
    floored = k.call("floor", quotient)
    off = k.call("gt", k.call("sub", quotient, floored), _constant(k, 0.5, a))
    floored = k.select(off, k.call("add", floored, one), floored)
    zero = _constant(k, 0, a)
    signed_zero = k.call("mul", zero, k.call("div", a, b))
    floored = k.select(k.call("eq", quotient, zero), signed_zero, floored)
    return k.select(k.call("eq", b, zero), k.call("div", a, b), floored)


def _shifted(instruction: str) -> Writer:
    """Shift; beyond the width the result is 0, or the sign for right shifts of negative numbers."""

    def write(k: Kernel, a: Value, b: Value) -> Value:
        bits, kind = TYPES[a.type]
        zero, last_bit = _constant(k, 0, b), _constant(k, bits - 1, b)
        inside = k.call("and", k.call("ge", b, zero), k.call("le", b, last_bit))
        shifted = k.call(instruction, a, k.select(inside, b, last_bit))
        if instruction == "shr" and kind == "i":
            return shifted  # by width - 1, which leaves the sign
        return k.select(inside, shifted, _constant(k, 0, a))

    return write


def _pow(k: Kernel, a: Value, b: Value) -> Value:
    """Return a power; of integers by squaring, modulo the width, as torch."""
    if _is_float(a):
        return k.call("pow", a, b)
    bits, kind = TYPES[a.type]
    zero, one = _constant(k, 0, a), _constant(k, 1, a)
    power, square = one, a
    for bit in range(bits - (kind == "i")):
        digit = k.call("and", k.call("shr", b, _constant(k, bit, b)), one)
        power = k.select(k.call("eq", digit, zero), power, k.call("mul", power, square))
        square = k.call("mul", square, square)
    if kind == "u":
        return power
    # Negative exponents: the powers of 1 and -1 follow from the last bit, others are below 1.
    is_unit = k.call("or", k.call("eq", a, one), k.call("eq", a, _constant(k, -1, a)))
    return k.select(k.call("or", is_unit, k.call("ge", b, zero)), power, zero)


def _square(k: Kernel, x: Value) -> Value:
    return k.call("mul", x, x)


def _reciprocal(k: Kernel, x: Value) -> Value:
    return k.call("div", _constant(k, 1, x), x)


def _divided(k: Kernel, a: Value, b: Value) -> Value:
    return k.call("div", a, b) if _is_float(a) else _integer_quotient(k, a, b)


#: Registers of the same size, with numbers and with their bits.
_SAME_BITS = {"f32": "i32", "f64": "i64", "i32": "f32", "i64": "f64"}


def _reinterpreted(k: Kernel, x: Value) -> Value:
    return k.reinterpreted(x, _SAME_BITS[x.type])


def _not(k: Kernel, x: Value) -> Value:
    x = k.converted(x, "u8") if x.type == "bool" else x
    return k.call("eq", x, _constant(k, 0, x))


_FUNCTIONS = [
    "acos", "acosh", "asinh", "atanh", "ceil", "cosh", "erfc", "exp2", "floor", "lgamma", "log10",
    "log2", "neg", "sinh", "sqrt", "tan", "trunc",
]  # fmt: skip
#: Code generators by operation, on registers; ``write`` handles conversions.
WRITERS: dict[str, Writer | None] = {
    **{name: _simple(name) for name in _FUNCTIONS},
    **{name: _compared(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: _bitwise(name) for name in ("add", "sub", "mul")},
    **{f"logical_{name}": _logical(name) for name in ("and", "or")},
    **{f"bitwise_{name}": _bitwise(name) for name in ("and", "or", "xor")},
    **{name: _accurate(name) for name in _ACCURATE},
    "abs": _abs, "bits": _reinterpreted, "erfinv_single": erfinv, "from_bits": _reinterpreted,
    "bitwise_not": _simple("not"), "cast": None, "cos_of_small": cos_of_small,
    "left_shift": _shifted("shl"), "right_shift": _shifted("shr"),
    "div": _divided, "exp_nonpositive": exp_nonpositive, "floor_divide": _floor_divide,
    "fmod": _fmod, "isfinite": _is_finite,
    "isinf": _test("isinf"), "isnan": _test("isnan"), "logical_not": _not,
    "logical_xor": _logical_xor,
    "maximum": _extreme("gt"), "minimum": _extreme("lt"), "pow": _pow,
    "reciprocal": _reciprocal, "remainder": _remainder, "round": _simple("rint"),
    "sigmoid": _sigmoid, "sign": _sign, "square": _square, "stop_gradient": lambda k, x: x,
    "trunc_divide": _trunc_divide, "where": lambda k, c, a, b: k.select(c, a, b),
}  # fmt: skip


#: Floats that are computed in wider registers.
NARROW = ("bfloat16", "float16")
#: Operations of more than a few instructions.
COSTLY = frozenset(
    (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cos_of_small",
        "cosh", "erf", "erfc",
        "erfinv_single", "exp", "exp2", "exp_nonpositive", "expm1", "hypot", "lgamma", "log",
        "log10", "log1p", "log2", "pow", "sigmoid", "sin", "sinh", "tan", "tanh",
    )
)  # fmt: skip
#: Operations whose result is one of the operands, up to its sign.
_EXACT = ("abs", "maximum", "minimum", "neg", "stop_gradient", "where")


def write(k: Kernel, term: Term, operands: Sequence[Value], passed: Sequence[Value] = ()) -> Value:
    """Generate code for one term, which may be a number passed at launch; return its register."""
    register = REGISTERS[term.dtype]
    attributes = {name: number_of(value) for name, value in term.attributes}
    if "passed" in attributes:
        number = passed[attributes["passed"]]
        is_float = register == "f32"
        return k.reinterpreted(number, register) if is_float else k.converted(number, register)
    if term.operation == "number":
        return rounded(k, k.constant(attributes["value"], register), term.dtype)
    if term.operation == "cast":
        return rounded(k, _cast(k, operands[0], term.dtype), term.dtype)
    writer = WRITERS[term.operation]
    if writer is None:
        raise TypeError(f"{term.operation}: there is no instruction for it")
    result = writer(k, *operands, **attributes)
    return result if term.operation in _EXACT else rounded(k, result, term.dtype)


def _cast(k: Kernel, v: Value, dtype: str) -> Value:
    """Convert; floats to narrow integers via wide ones, so that they wrap as on CPUs."""
    register = REGISTERS[dtype]
    bits, kind = TYPES[register]
    if _is_float(v) and kind in "iu" and bits < 64:
        return k.converted(k.converted(v, "i64"), register)
    return k.converted(v, register)


def rounded(k: Kernel, v: Value, dtype: str) -> Value:
    """Round a register to the precision of its dtype."""
    if dtype == "float16":
        return k.converted(k.converted(v, "f16"), "f32")
    if dtype == "bfloat16":
        return widened(k, _narrowed(k, v))
    return v


def widened(k: Kernel, bits: Value) -> Value:
    """Convert bfloat16 bits (u16) to f32."""
    wide = k.call("shl", k.converted(bits, "u32"), k.constant(16, "u32"))
    return k.reinterpreted(wide, "f32")


def _narrowed(k: Kernel, v: Value) -> Value:
    """Convert f32 to bfloat16 bits, rounding to nearest even."""
    bits = k.reinterpreted(v, "u32")
    high = k.call("shr", bits, k.constant(16, "u32"))
    odd = k.call("and", high, k.constant(1, "u32"))
    up = k.call("add", k.call("add", bits, k.constant(0x7FFF, "u32")), odd)
    nearest = k.call("shr", up, k.constant(16, "u32"))
    nan = k.constant(0x7FC0, "u32")
    return k.converted(k.select(k.call("isnan", v), nan, nearest), "u16")


def from_memory(k: Kernel, v: Value, dtype: str) -> Value:
    """Convert a loaded value to its register type."""
    if dtype == "bfloat16":
        return widened(k, v)
    return k.converted(v, REGISTERS[dtype])


def to_memory(k: Kernel, v: Value, dtype: str) -> Value:
    """Convert a register, which has the precision of its dtype, to its memory type."""
    if dtype == "bfloat16":
        bits = k.reinterpreted(v, "u32")
        return k.converted(k.call("shr", bits, k.constant(16, "u32")), "u16")
    return k.converted(v, IN_MEMORY.get(dtype, REGISTERS[dtype]))
