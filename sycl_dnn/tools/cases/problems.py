# SPDX-License-Identifier: Apache-2.0
"""Parsing of problem descriptors such as ``16x32:1x32`` and ``mb2ic3ih8oc4kh3``."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

MAX_DIMS = 12
MAX_DIM = 2**40

_NAME = re.compile(r'^"(.*)"$')
_DIMS = re.compile(r"^[0-9x:]+$")
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def _clean(name: str) -> str:
    quoted = _NAME.match(name)
    return quoted.group(1) if quoted else name


def _dims(text: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isdigit() for part in parts):
        raise ValueError(f"dims must be numbers between x, got {text!r}")
    dims = tuple(map(int, parts))
    if len(dims) > MAX_DIMS or max(dims) > MAX_DIM:
        raise ValueError(f"dims must be at most {MAX_DIMS} and each at most 2**40, got {text!r}")
    return dims


def tensors(text: str, least: int = 1, most: int = 1) -> tuple[list[tuple[int, ...]], str]:
    """Parse ``AxB[:AxB...][_nname]``: the dims of each tensor, and the name."""
    body, _, name = text.partition("n")
    body = body.removesuffix("_")
    if not _DIMS.match(body):
        raise ValueError(f"problem must be dims such as 2x3:2x1, got {text!r}")
    matches = [_dims(part) for part in body.split(":")]
    if not least <= len(matches) <= most:
        many = f"{least}" if least == most else f"{least} to {most}"
        raise ValueError(f"problem must have {many} tensors, got {len(matches)} in {text!r}")
    return matches, _clean(name)


def letters(text: str, keys: tuple[str, ...], reals: tuple[str, ...] = ()) -> tuple[dict, str]:
    """Parse ``mb2ic3..n"name"``: numbers by key, and the name; ``reals`` may have fractions."""
    words = sorted((*keys, *reals), key=len, reverse=True)
    numbers: dict[str, Any] = {}
    at = 0
    while at < len(text):
        if text[at] == "_":
            at += 1
            continue
        key = next((k for k in words if text.startswith(k, at)), None)
        if key is None:
            if text[at] == "n":
                return numbers, _clean(text[at + 1 :])
            raise ValueError(f"problem must be made of {' '.join(words)}, got {text[at:]!r}")
        number = _NUMBER.match(text, at + len(key))
        if number is None:
            raise ValueError(f"{key} must have a number, got {text[at:]!r}")
        value = float(number.group()) if key in reals else _whole(key, number.group())
        numbers[key] = value
        at = number.end()
    return numbers, ""


def _whole(key: str, text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{key} must be an integer of at least 0, got {text}")
    if int(text) > MAX_DIM:
        raise ValueError(f"{key} must be at most 2**40, got {text}")
    return int(text)


def _require(numbers: dict, keys: tuple[str, ...], text: str) -> None:
    for key in keys:
        if not numbers.get(key):
            raise ValueError(f"{key} must be given, got {text!r}")


SPATIAL = {group: tuple(group + axis for axis in "dhw") for group in "iokspd"}


def _keys(groups: str) -> tuple[str, ...]:
    return tuple(key for group in groups for key in SPATIAL[group])


def _rank(numbers: dict, groups: str) -> int:
    """Return the number of spatial axes in the descriptor."""
    for axis, rank in zip("dhw", (3, 2, 1), strict=True):
        if any(numbers.get(group + axis) for group in groups):
            return rank
    return 0


def _spread(numbers: dict, group: str, rank: int) -> list[int | None]:
    """Return a group's values per axis; missing ones are those of the previous axis."""
    values: list[int | None] = []
    for axis in "dhw"[3 - rank :]:
        value = numbers.get(group + axis)
        values.append(values[-1] if value is None and values else value)
    return values


def windows(numbers: dict, inverse: bool = False) -> SimpleNamespace:
    """Complete a descriptor of convolution or pooling, axis by axis.

    Returns i, o, k, s, d, pl and pr: tuples over the spatial axes. ``inverse`` means deconvolution,
    whose destination is the larger side.
    """
    rank = _rank(numbers, "iok")
    if not rank:
        raise ValueError("problem must have spatial sizes such as ih and kh")
    results: list[dict] = []
    above: dict[str, int] = {}
    for axis in "dhw"[3 - rank :]:
        given_sizes = {group: numbers[group + axis] for group in SPATIAL if group + axis in numbers}
        shared = {k: v for k, v in above.items() if k in "ik" or "i" not in given_sizes}
        above = shared | given_sizes
        results.append(_window(above, inverse))
    return SimpleNamespace(**{key: tuple(one[key] for one in results) for key in results[0]})


def _window(sizes: dict, inverse: bool) -> dict:
    for key in "ik":
        if key not in sizes:
            raise ValueError(f"problem must say {key}d, {key}h or {key}w for each spatial axis")
    i, k, s, d = sizes["i"], sizes["k"], sizes.get("s", 1), sizes.get("d", 0)
    if min(k, s) < 1:
        raise ValueError(f"kernel and stride must be at least 1, got {k} and {s}")
    extent, o, p = (k - 1) * (d + 1) + 1, sizes.get("o") or None, sizes.get("p")
    if o is None:
        p = p or 0
        o = (i - 1) * s + extent - 2 * p if inverse else (i - extent + 2 * p) // s + 1
    small, large = (i, o) if inverse else (o, i)
    if p is None:
        p = max(0, ((small - 1) * s - large + extent) // 2)
    if o < 1:
        raise ValueError(f"the output must not be empty, got {o} from i{i} k{k} s{s} p{p} d{d}")
    right = (small - 1) * s - large + extent - p
    return {"i": i, "o": o, "k": k, "s": s, "d": d, "pl": p, "pr": right}


def convolution(text: str, inverse: bool = False) -> SimpleNamespace:
    """Parse a descriptor of convolution, or of deconvolution (``inverse``)."""
    numbers, name = letters(text, ("g", "mb", "ic", "oc", *_keys("iokspd")))
    _require(numbers, ("ic", "oc"), text)
    groups = numbers.get("g")
    if groups == 0 or (groups and (numbers["ic"] % groups or numbers["oc"] % groups)):
        raise ValueError(f"g must divide ic and oc, got {text!r}")
    return SimpleNamespace(
        name=name,
        g=groups,
        mb=numbers.get("mb", 2),
        ic=numbers["ic"],
        oc=numbers["oc"],
        **vars(windows(numbers, inverse)),
    )


def pooling(text: str) -> SimpleNamespace:
    """Parse a descriptor of pooling."""
    numbers, name = letters(text, ("mb", "ic", *_keys("iokspd")))
    _require(numbers, ("ic",), text)
    return SimpleNamespace(
        name=name, mb=numbers.get("mb", 2), ic=numbers["ic"], **vars(windows(numbers))
    )


def spatial(
    text: str, required: tuple[str, ...], groups: str = "i", **defaults: float
) -> SimpleNamespace:
    """Parse a descriptor without windows: numbers by key, and tuples ``i`` (and ``o``).

    Keys with fractions as ``defaults`` may have them.
    """
    reals = tuple(key for key, value in defaults.items() if isinstance(value, float))
    keys = (*required, *(key for key in defaults if key not in reals))
    numbers, name = letters(text, ("mb", *keys, *_keys(groups)), reals)
    _require(numbers, required, text)
    rank = _rank(numbers, groups)
    sizes = {group: tuple(v or 0 for v in _spread(numbers, group, rank)) for group in groups}
    plain = {key: numbers[key] for key in (*keys, *reals) if key in numbers}
    return SimpleNamespace(name=name, mb=numbers.get("mb", 2), **(defaults | plain), **sizes)


def recurrent(text: str) -> SimpleNamespace:
    """Parse a descriptor of a recurrent network."""
    keys = ("l", "t", "mb", "sic", "slc", "dhc", "dic")
    numbers, name = letters(text, keys)
    _require(numbers, ("sic",), text)
    numbers = {"l": 1, "t": 1, "mb": 2} | numbers
    numbers["slc"] = numbers.get("slc") or numbers["sic"]
    numbers["dhc"] = numbers.get("dhc") or numbers["sic"]
    numbers["dic"] = numbers.get("dic") or numbers["dhc"]
    return SimpleNamespace(name=name, **numbers)
