# SPDX-License-Identifier: Apache-2.0
"""Options of the graph driver as benchdnn writes them: ``0:2x64*ba+1:64x8``, ``3:axis:-1*...``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sycl_dnn.graph.table import KIND_OF
from sycl_dnn.verify.graph import checks
from sycl_dnn.verify.graph.checks import Broken
from sycl_dnn.verify.graph.document import ROWS

T = TypeVar("T")


@dataclass(frozen=True)
class ShapeText:
    """What ``--in-shapes`` says of a tensor; None where it keeps what the file has.

    order : permutation of axes as letters, ``strides`` : numbers
    """

    dims: tuple[int, ...] | None
    order: str = ""
    strides: tuple[int, ...] | None = None


def _sizes(text: str, what: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise ValueError(f"{what} must be integers between x, got {text!r}")
    return tuple(map(int, parts))


def by_number(text: str, read: Callable[[str], T]) -> dict[int, T]:
    """Read ``ID:VALUE+ID:VALUE``; an empty text changes nothing."""
    found: dict[int, T] = {}
    for part in text.split("+") if text else ():
        number, colon, value = part.partition(":")
        # benchdnn, which reads numbers up to what is none, has files with ID*TAG:SHAPE*TAG.
        number = number.partition("*")[0]
        if not colon or not value or not number.isdigit():
            raise ValueError(f"must be ID:VALUE, joined by +, got {part!r}")
        if int(number) in found:
            raise ValueError(f"must name each number once, got {number} twice")
        if value != "default":
            found[int(number)] = read(value)
    return found


def shape(text: str) -> ShapeText:
    """Read ``SIZES``, ``SIZES*STRIDES``, ``*TAG`` or ``-``, which has no axes."""
    if text == "-":
        return ShapeText(())
    sizes, star, layout = text.partition("*")
    dims = _sizes(sizes, "shape") if sizes or not star else None
    if not star:
        return ShapeText(dims)
    if not layout.isalpha():
        return ShapeText(dims, strides=_sizes(layout, "strides"))
    if sorted(layout) != [chr(ord("a") + i) for i in range(len(layout))]:
        raise ValueError(f"tag must be a permutation of the first letters, got {layout!r}")
    return ShapeText(dims, order=layout)


def in_shapes(text: str) -> dict[int, ShapeText]:
    """Read ``--in-shapes``."""
    return by_number(text, shape)


def _attribute(name: str, text: str) -> Any:
    kind = KIND_OF.get(name)
    if kind is None:
        raise ValueError(f"attribute must be one of {', '.join(sorted(KIND_OF))}, got {name!r}")
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind in ("int", "float"):
            return {"int": int, "float": float}[kind](text)
        if kind in ("ints", "floats"):
            # As there: the whole part of a fraction.
            one = (lambda part: int(float(part))) if kind == "ints" else float
            return tuple(one(part) for part in text.split("x"))
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"{name} must be of kind {kind}, got {text!r}") from None
    return text


def _attributes(text: str) -> dict[str, Any]:
    found = {}
    for part in text.split("*"):
        name, colon, value = part.partition(":")
        if not colon:
            raise ValueError(f"must be NAME:VALUE, joined by *, got {part!r}")
        found[name] = _attribute(name, value)
    return found


def op_attrs(text: str) -> dict[int, dict[str, Any]]:
    """Read ``--op-attrs``."""
    return by_number(text, _attributes)


def _known(known: Any, what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        try:
            return checks.one_of(text, known, what)
        except Broken as problem:
            raise ValueError(str(problem)) from None

    return read


def dtypes(text: str) -> str | dict[int, str]:
    """Read ``--dt``: one data type for all floating-point tensors, or one by tensor."""
    if ":" in text:
        return by_number(text, _known(checks.DTYPES, "dtype"))
    return _known(("undef", "f32", "bf16", "f16"), "dtype")(text or "undef")


def op_kinds(text: str) -> dict[int, str]:
    """Read ``--op-kind``; ``undef`` takes the operation out."""
    return by_number(text, _known((*ROWS, "undef"), "kind"))


def properties(text: str) -> dict[int, str]:
    """Read ``--tensor-property``."""
    return by_number(text, _known(checks.PROPERTIES, "property"))


def partitions(text: str) -> int:
    """Read ``--expected-n-partitions``; 0 expects nothing."""
    if not text.isdigit():
        raise ValueError(f"must be an integer from 0, got {text!r}")
    return int(text)
