# SPDX-License-Identifier: Apache-2.0
"""Options of drivers, and benchdnn's notation of attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

POLICIES = (
    *("common", "host_scalar", "mx", "dynamic_fp", "per_oc", "per_ocic", "per_tensor"),
    *("per_dim_0", "per_dim_1", "per_dim_01", "per_dim_2", "per_dim_3"),
)


def check(value: str, choices: Iterable[str], label: str) -> str:
    """Return a name after checking that it is known."""
    if value not in choices:
        raise ValueError(f"{label} must be one of {', '.join(choices)}, got {value!r}")
    return value


def policy_of(text: str) -> str | int:
    """Parse the name of a policy, or a mask."""
    if text.isdigit():
        return int(text)
    return check(text.lower(), POLICIES, "policy")


def number(text: str, label: str) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{label} must be a number, got {text!r}") from None


def several(text: str, read: Callable[[str], Any]) -> tuple:
    """Parse the parts between ``+``."""
    return tuple(read(part) for part in text.split("+") if part)


# --- Attributes: ``src:common:2+wei:per_oc``

ACCUMULATION = ("strict", "relaxed", "any", "f32", "s32", "f16")
FPMATH = ("strict", "bf16", "f16", "tf32", "any")
_SINGLE = ("common", "host_scalar")
_SCALE_ARGS = {"src": "src", "src0": "src_0", "src1": "src_1", "wei": "weights", "dst": "dst"}
_DW_ARGS = {
    "attr_post_op_dw_wei": "attr_post_op_dw_weights",
    "attr_post_op_dw_dst": "attr_post_op_dw_dst",
}


@dataclass(frozen=True)
class Quantity:
    """Scales or zero points of one argument; ``policy`` is a policy name or a mask."""

    arg: str
    policy: str | int
    value: float | None = None
    dtype: str = "f32"
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Dropout:
    """Dropout; ``tag`` is empty if no mask is requested: without a tag, or with ``undef``."""

    p: float
    seed: int = 0
    tag: str = ""
    offset: int | None = None
    host: bool = False


def integers(text: str, label: str) -> tuple[int, ...]:
    """Parse integers such as ``8x1``."""
    parts = text.split("x")
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"{label} must be integers between x, got {text!r}")
    return tuple(map(int, parts))


def _argument(text: str) -> str:
    if text.startswith("msrc") and text[4:].isdigit():
        return f"multiple_src_{int(text[4:])}"
    return (_SCALE_ARGS | _DW_ARGS)[check(text, _SCALE_ARGS | _DW_ARGS, "argument")]


def _quantity(text: str, default_type: str) -> Quantity:
    parts = text.split(":")
    if len(parts) < 2:
        raise ValueError(f"scales and zero points must be ARG:POLICY..., got {text!r}")
    arg, policy, rest = _argument(parts[0]), policy_of(parts[1]), parts[2:]
    value = None
    if (policy in _SINGLE or policy == 0) and rest:
        value = number(rest.pop(0), "value")
    dtype = rest.pop(0) if rest else default_type
    groups = integers(rest.pop(0), "groups") if rest else ()
    if rest:
        raise ValueError(f"nothing must follow the groups, got {text!r}")
    if policy == "mx" and not groups:
        groups = (1, 32)
    return Quantity(arg, policy, value, dtype, groups)


def quantities(default_type: str) -> Callable[[str], tuple[Quantity, ...]]:
    """Return a parser of scales or zero points."""
    return lambda text: several(text, lambda part: _quantity(part, default_type))


def fpmath(text: str) -> tuple[str, bool]:
    """Parse ``--attr-fpmath=MODE[:true]``."""
    mode, _, applies = text.partition(":")
    return check(mode or "strict", FPMATH, "mode"), applies in ("true", "1")


def rounding(text: str) -> tuple[tuple[str, str], ...]:
    """Parse ``--attr-rounding-mode``."""
    matches = []
    for part in text.split("+") if text else ():
        arg, _, rest = part.partition(":")
        mode = rest.split(":")[0] or "environment"
        matches.append((arg, check(mode, ("environment", "stochastic"), "mode")))
    return tuple(matches)


def dropout(text: str) -> Dropout | None:
    """Parse ``--attr-dropout=P[:SEED[:TAG[:OFFSET[:HOST]]]]``."""
    if not text:
        return None
    parts = [*text.split(":"), "", "", "", ""]
    p = number(parts[0], "probability")
    if not 0 <= p <= 1:
        raise ValueError(f"probability must be in [0, 1], got {parts[0]}")
    seed, offset = int(parts[1] or 0), int(parts[3]) if parts[3] else None
    tag = "" if parts[2] == "undef" else parts[2]
    return Dropout(p, seed, tag, offset, parts[4] in ("true", "1"))


# --- Post-ops: ``sum:0.5+relu``, ``add:bf16:per_oc``, ``dw:k3s1p1``

#: Name in case files: oneDNN's algorithm and the maximum number of constants.
ELTWISE = {
    **dict.fromkeys(("relu", "elu", "soft_relu", "swish"), 1),
    **dict.fromkeys(("abs", "exp", "log", "logistic", "mish", "round", "sqrt", "square"), 0),
    **dict.fromkeys(("tanh", "gelu_erf", "gelu_tanh"), 0),
    **dict.fromkeys(("clip", "clip_v2", "hardsigmoid", "hardswish", "linear", "pow"), 2),
}
BY_DST = ("relu", "tanh", "elu", "sqrt", "logistic", "exp", "clip_v2")
BINARY = ("add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne")


@dataclass(frozen=True)
class PostOp:
    """One post-op; fields that do not apply to its ``kind`` keep their defaults."""

    kind: str
    algorithm: str = ""
    alpha: float = 0.0
    beta: float = 0.0
    dtype: str = "undef"
    policy: str | int = "common"
    tag: str = "any"
    strides: str = ""
    condition: tuple[str | int, str] = ("common", "any")
    kernel: tuple[int, int, int] = (0, 0, 0)


def _eltwise(name: str, rest: list[str]) -> PostOp:
    base = name.removesuffix("_dst")
    if name.endswith("_dst") and base not in BY_DST:
        raise ValueError(f"post-op must be a known one, got {name!r}")
    numbers = [number(part, "constant") for part in rest[:2]] + [0.0, 0.0]
    full = f"eltwise_{base}" + ("_use_dst_for_bwd" if name.endswith("_dst") else "")
    return PostOp("eltwise", full, numbers[0], numbers[1])


def _sum(rest: list[str]) -> PostOp:
    rest = [*rest, *["1", "0", "undef"][len(rest) :]]
    scale, zero_point = number(rest[0], "scale"), number(rest[1], "zero point")
    return PostOp("sum", "", scale, zero_point, rest[2])


def _binary(name: str, rest: list[str]) -> PostOp:
    rest = [*rest, *["f32", "common", "any", ""][len(rest) :]]
    return PostOp(
        "binary",
        f"binary_{name}",
        dtype=rest[0],
        policy=policy_of(rest[1]),
        tag=rest[2],
        strides=rest[3],
    )


def _operand(text: str) -> tuple[str | int, str]:
    policy, _, tag = text.partition(".")
    return policy_of(policy or "common"), tag or "any"


def _select(rest: list[str]) -> PostOp:
    first, _, others = (rest[0] if rest else "f32").partition(".")
    policy, tag = _operand(others)
    condition = _operand(rest[1]) if len(rest) > 1 else ("common", "any")
    return PostOp(
        "binary", "binary_select", dtype=first, policy=policy, tag=tag, condition=condition
    )


def _depthwise(rest: list[str]) -> PostOp:
    letters = rest[0] if rest else ""
    numbers = letters.replace("k", " ").replace("s", " ").replace("p", " ").split()
    if len(numbers) != 3 or not all(n.isdigit() for n in numbers):
        raise ValueError(f"dw must be dw:k<size>s<stride>p<padding>, got {letters!r}")
    dtype = rest[1] if len(rest) > 1 else "f32"
    size, stride, padding = map(int, numbers)
    return PostOp("dw", dtype=dtype, kernel=(size, stride, padding))


def post_op(text: str) -> PostOp:
    """Parse one post-op."""
    name, *rest = text.split(":")
    name = name.lower().removeprefix("binary_").removeprefix("eltwise_")
    if name == "sum":
        return _sum(rest)
    if name == "prelu":
        return PostOp("prelu", policy=policy_of(rest[0]) if rest else "common")
    if name == "dw":
        return _depthwise(rest)
    if name == "select":
        return _select(rest)
    if name in BINARY:
        return _binary(name, rest)
    kinds = [*ELTWISE, *(f"{n}_dst" for n in BY_DST), *BINARY, "sum", "prelu", "dw", "select"]
    check(name, kinds, "post-op")
    return _eltwise(name, rest)


def post_ops(text: str) -> tuple[PostOp, ...]:
    """Parse ``--attr-post-ops``."""
    return several(text, post_op)


# --- Options: names, parsers, defaults

MAX_LIST = 4096


@dataclass(frozen=True)
class Option:
    """An option with a comma-separated list of values.

    name : str            without dashes, as benchdnn spells it
    read : callable       parses a list item; raises ValueError with the violated rule
    default : str         parsed if the option is not set
    """

    name: str
    read: Callable[[str], Any]
    default: str = ""

    def values(self, text: str) -> list[tuple[str, Any]]:
        """Return pairs of item strings and values; an empty string gives the default."""
        parts = [part or self.default for part in text.split(",")]
        if len(parts) > MAX_LIST:
            raise ValueError(f"--{self.name} must have at most {MAX_LIST} items")
        return [(part, self.read(part)) for part in parts]


class Names(Option):
    """An option whose comma-separated list is a single value."""

    def values(self, text: str) -> list[tuple[str, Any]]:
        """Return the whole list as the only item."""
        return [(text, tuple(part for part in text.strip("'\"").split(",") if part))]


def one_of(*names: str, **others: str) -> Callable[[str], str]:
    """Return a parser for one of these names, case-insensitive.

    ``others`` maps additional spellings, such as oneDNN's names.
    """
    by_word = {name.lower(): name for name in names} | others

    def read(text: str) -> str:
        if text.lower() not in by_word:
            raise ValueError(f"must be one of {', '.join(names)}, got {text!r}")
        return by_word[text.lower()]

    return read


def algorithm(names: dict[str, str], default: str) -> Option:
    """Return the option of algorithms by benchdnn's names, which also accepts oneDNN's."""
    return Option("alg", one_of(*names, **{full: name for name, full in names.items()}), default)


def boolean(text: str) -> bool:
    """Parse true, false, 1 or 0."""
    return one_of("true", "false", "1", "0")(text) in ("true", "1")


def integer(text: str) -> int:
    """Parse an integer of reasonable size."""
    number = int(text)
    if abs(number) > 2**40:
        raise ValueError(f"must be an integer of at most 40 bits, got {text}")
    return number


def optional_integer(text: str) -> int | None:
    """Parse an integer; an empty string is None."""
    return integer(text) if text else None


def real(text: str) -> float:
    """Parse a number."""
    number = float(text)
    if number != number:
        raise ValueError("must be a number, got nan")
    return number


def text(value: str) -> str:
    """Return a word unchanged."""
    return value


def split(value: str) -> tuple[str, ...]:
    """Parse the parts between colons."""
    return tuple(value.split(":"))


def data_types(value: str) -> tuple[str, ...]:
    """Parse data types between colons."""
    result = split(value)
    if value == "":
        return ("undef",)
    for name in result:
        if name not in DATA_TYPES:
            raise ValueError(f"data type must be one of {', '.join(DATA_TYPES)}, got {name!r}")
    return result


DATA_TYPES = (
    *("f64", "f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1", "f4_e3m0", "e8m0"),
    *("s64", "s32", "s8", "u8", "s4", "u4", "undef"),
)
DIRECTIONS = ("FWD_B", "FWD_D", "FWD_I", "BWD_D", "BWD_W", "BWD_WB", "BWD_DW")

#: Attribute options of every driver.
ATTRIBUTES = (
    Option("attr-scales", quantities("f32")),
    Option("attr-zero-points", quantities("s32")),
    Option("attr-precomputed-reductions", quantities("s32")),
    Option("attr-post-ops", post_ops),
    Option("attr-scratchpad", one_of("library", "user"), "library"),
    Option("attr-fpmath", fpmath, "strict"),
    Option("attr-acc-mode", one_of(*ACCUMULATION), "strict"),
    Option("attr-deterministic", boolean, "false"),
    Option("attr-rounding-mode", rounding),
    Option("attr-dropout", dropout),
    Names("impl", text),
    Names("skip-impl", text),
)


DIR = Option("dir", one_of(*DIRECTIONS), "FWD_B")
DIR_D = Option("dir", one_of(*DIRECTIONS), "FWD_D")
MB = Option("mb", optional_integer)
INPLACE = Option("inplace", boolean, "false")


def tag(name: str, default: str) -> Option:
    """Return a layout option, with one value per tensor."""
    return Option(name, split, default)


def dtype(name: str, default: str) -> Option:
    """Return a data type option, with one value per tensor."""
    return Option(name, data_types, default)


def types_and_tags(sdt: str = "f32", stag: str = "abx", dtag: str = "any") -> tuple[Option, ...]:
    """Return the options of the data types and layouts of sources and destination."""
    return dtype("sdt", sdt), dtype("ddt", "f32"), tag("stag", stag), tag("dtag", dtag)
