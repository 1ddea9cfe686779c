# SPDX-License-Identifier: Apache-2.0
"""Names of an object's attributes: fields, slots, and dynamic ones."""

from __future__ import annotations

import dataclasses
from typing import Any


def attributes_of(value: Any) -> tuple[str, ...]:
    """Return the attributes of an object: dataclass fields, slots and ``__dict__``."""
    own = getattr(value, "__dict__", {})
    fields = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
    slots = [s for kind in type(value).__mro__ for s in slots_of(kind) if hasattr(value, s)]
    return tuple(dict.fromkeys([*fields, *slots, *own]))


def slots_of(kind: type) -> list[str]:
    """Return the attributes that a class itself stores in slots."""
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    private = [n for n in names if n.startswith("__") and not n.endswith("__")]
    mangled = {n: f"_{kind.__name__.lstrip('_')}{n}" for n in private}
    return [mangled.get(n, n) for n in names if n not in ("__dict__", "__weakref__")]
