# SPDX-License-Identifier: Apache-2.0
"""The options that ``repr`` shows between a module's parentheses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown_options(module: Any, shown: Iterable[str | tuple[str, Any]]) -> str:
    """Return attributes of a module as text; of a parameter, whether there is one.

    ``=name`` stands for the value alone; a pair of a name and a default for what is left out where
    it has that value, or that value for each axis.
    """
    parts = []
    for entry in shown:
        name, *defaults = entry if isinstance(entry, tuple) else (entry,)
        name = name.lstrip("=")
        value = getattr(module, name)
        value = value is not None if name in module._parameters else value
        if entry[0] == "=":
            parts.append(str(value))
        elif not defaults:
            parts.append(f"{name}={value!r}")
        elif value != defaults[0] and not (type(value) is tuple and {*value} == {defaults[0]}):
            parts.append(f"{name}={value}")
    return ", ".join(parts)
