# SPDX-License-Identifier: Apache-2.0
"""Options: names, readers of their values, defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sycl_dnn.verify import attr_text, post_op_text

MAX_LIST = 4096


@dataclass(frozen=True)
class Option:
    """An option with a comma list of values.

    name : str            without dashes, as benchdnn spells it
    read : callable       text of one list item -> value; ValueError with the rule it breaks
    default : str         what is read when nothing was given
    """

    name: str
    read: Callable[[str], Any]
    default: str = ""

    def values(self, text: str) -> list[tuple[str, Any]]:
        """Return the items of a list with their texts; an empty text is the default."""
        parts = [part or self.default for part in text.split(",")]
        if len(parts) > MAX_LIST:
            raise ValueError(f"--{self.name} must have at most {MAX_LIST} items")
        return [(part, self.read(part)) for part in parts]


class Names(Option):
    """An option whose comma list is one value."""

    def values(self, text: str) -> list[tuple[str, Any]]:
        """Return the list as the only item."""
        return [(text, tuple(part for part in text.strip("'\"").split(",") if part))]


def one_of(*names: str, **others: str) -> Callable[[str], str]:
    """Return a reader of one of these names, whose case does not matter.

    ``others`` are further spellings: oneDNN's own names for the same.
    """
    known = {name.lower(): name for name in names} | others

    def read(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(f"must be one of {', '.join(names)}, got {text!r}")
        return known[text.lower()]

    return read


def boolean(text: str) -> bool:
    """Read true, false, 1 or 0."""
    return one_of("true", "false", "1", "0")(text) in ("true", "1")


def integer(text: str) -> int:
    """Read an integer of sensible size."""
    number = int(text)
    if abs(number) > 2**40:
        raise ValueError(f"must be an integer of at most 40 bits, got {text}")
    return number


def optional_integer(text: str) -> int | None:
    """Read an integer; nothing is None."""
    return integer(text) if text else None


def real(text: str) -> float:
    """Read a number."""
    number = float(text)
    if number != number:
        raise ValueError("must be a number, got nan")
    return number


def text(value: str) -> str:
    """Take a word as it is."""
    return value


def split(value: str) -> tuple[str, ...]:
    """Read the parts between colons."""
    return tuple(value.split(":"))


def data_types(value: str) -> tuple[str, ...]:
    """Read data types between colons."""
    found = split(value)
    if value == "":
        return ("undef",)
    for name in found:
        if name not in DATA_TYPES:
            raise ValueError(f"data type must be one of {', '.join(DATA_TYPES)}, got {name!r}")
    return found


DATA_TYPES = (
    *("f64", "f32", "f16", "bf16", "f8_e5m2", "f8_e4m3", "f4_e2m1", "f4_e3m0", "e8m0"),
    *("s64", "s32", "s8", "u8", "s4", "u4", "undef"),
)
DIRECTIONS = ("FWD_B", "FWD_D", "FWD_I", "BWD_D", "BWD_W", "BWD_WB", "BWD_DW")

#: Attributes, of every driver.
ATTRIBUTES = (
    Option("attr-scales", attr_text.scales),
    Option("attr-zero-points", attr_text.zero_points),
    Option("attr-precomputed-reductions", attr_text.precomputed_reductions),
    Option("attr-post-ops", post_op_text.post_ops),
    Option("attr-scratchpad", one_of("library", "user"), "library"),
    Option("attr-fpmath", attr_text.fpmath, "strict"),
    Option("attr-acc-mode", one_of(*attr_text.ACCUMULATION), "strict"),
    Option("attr-deterministic", boolean, "false"),
    Option("attr-rounding-mode", attr_text.rounding),
    Option("attr-dropout", attr_text.dropout),
    Names("impl", text),
    Names("skip-impl", text),
)


DIR = Option("dir", one_of(*DIRECTIONS), "FWD_B")
DIR_D = Option("dir", one_of(*DIRECTIONS), "FWD_D")
MB = Option("mb", optional_integer)
INPLACE = Option("inplace", boolean, "false")


def tag(name: str, default: str) -> Option:
    """Return an option of layouts, one for each tensor."""
    return Option(name, split, default)


def dtype(name: str, default: str) -> Option:
    """Return an option of data types, one for each tensor."""
    return Option(name, data_types, default)
