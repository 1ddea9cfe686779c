# SPDX-License-Identifier: Apache-2.0
"""An example for the docstring of every function, from ``docstring_examples.txt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_IMPORTS = (">>> import dpnp", ">>> from sycl_dnn import functional as F")


def read() -> dict[str, list[str]]:
    """Return the lines of each function's example; they run as a doctest."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("@ "):
            found[line[2:]] = lines = []
        else:
            lines.append(line)
    return found


def attach(namespace: dict[str, Any]) -> None:
    """Append its example to the docstring of each function that the namespace holds."""
    for name, lines in read().items():
        described = namespace[name]
        text = described.__doc__
        if text is None or ">>>" in text:  # there are no docstrings under ``python -OO``
            continue
        margin = text.rpartition("\n")[2]
        margin = "\n" + (margin if margin.isspace() else "")
        parts = [text.rstrip(), "", "Examples", "--------", *_IMPORTS, *lines, ""]
        described.__doc__ = margin.join(parts)
