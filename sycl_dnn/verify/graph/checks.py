# SPDX-License-Identifier: Apache-2.0
"""Values that come from files of others: types, ranges and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

DTYPES = (
    *("f32", "bf16", "f16", "f8_e5m2", "f8_e4m3", "s64", "s32", "s8", "u8", "s4", "u4"),
    "boolean",
)
PROPERTIES = ("undef", "variable", "constant", "host_scalar")
FPMATH = ("strict", "bf16", "f16", "tf32", "any")
MAX_LIST = 1 << 20
MAX_RANK = 12
MAX_SIZE = 2**40


class Broken(ValueError):
    """A graph file, or an option that changes it, breaks a rule; the text says which."""


def one_of(value: Any, known: Iterable[str], what: str) -> str:
    """Return a name that must be one of those known."""
    if not isinstance(value, str) or value not in known:
        names = list(known)
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise Broken(f"{what} must be one of {shown}, got {value!r:.80}")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise Broken(f"{what} must be an object, got {type(value).__name__}")
    return value


def sequence(value: Any, what: str, most: int = MAX_LIST) -> list[Any]:
    """Return a JSON list."""
    if not isinstance(value, list):
        raise Broken(f"{what} must be a list, got {type(value).__name__}")
    if len(value) > most:
        raise Broken(f"{what} must have at most {most} items, got {len(value)}")
    return value


def integer(value: Any, what: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """Return an integer in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Broken(f"{what} must be an integer in [{low}, {high}], got {value!r:.80}")
    return value


def integers(value: Any, what: str, low: int = -(2**63)) -> tuple[int, ...]:
    """Return a tuple of integers."""
    return tuple(integer(one, what, low) for one in sequence(value, what))


def _number(value: Any, what: str) -> float:
    # Infinity is written as a string or as 1e999.
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise Broken(f"{what} must be a number, got {value!r:.80}") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Broken(f"{what} must be a number, got {value!r:.80}")
    return float(value)


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool) and value not in (0, 1):
        raise Broken(f"{what} must be true or false, got {value!r:.80}")
    return bool(value)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > 100:
        raise Broken(f"{what} must be a short text, got {value!r:.80}")
    return value


#: Readers by the ``type`` of an attribute.
VALUES: dict[str, Callable[[Any, str], Any]] = {
    "string": _text,
    "bool": _truth,
    "s64": integer,
    "s64[]": integers,
    "f32": _number,
    "f32[]": lambda value, what: tuple(_number(one, what) for one in sequence(value, what)),
}
