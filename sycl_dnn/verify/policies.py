# SPDX-License-Identifier: Apache-2.0
"""Words that all attributes have in common: policies, numbers, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

POLICIES = (
    *("common", "host_scalar", "mx", "dynamic_fp", "per_oc", "per_ocic", "per_tensor"),
    *("per_dim_0", "per_dim_1", "per_dim_01", "per_dim_2", "per_dim_3"),
)


def check(value: str, known: Iterable[str], what: str) -> str:
    """Return a name that must be one of those known."""
    if value not in known:
        raise ValueError(f"{what} must be one of {', '.join(known)}, got {value!r}")
    return value


def policy_of(text: str) -> str | int:
    """Read the name of a policy, or a mask."""
    if text.isdigit():
        return int(text)
    return check(text.lower(), POLICIES, "policy")


def number(text: str, what: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{what} must be a number, got {text!r}") from None


def several(text: str, read: Callable[[str], Any]) -> tuple:
    """Read the parts between ``+``."""
    return tuple(read(part) for part in text.split("+") if part)
