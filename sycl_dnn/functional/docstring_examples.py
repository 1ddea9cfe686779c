# SPDX-License-Identifier: Apache-2.0
"""Docstring examples from a table: for all functions, and for modules without their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_IMPORTS = (">>> import dpnp", ">>> from sycl_dnn import functional as F")


def read(file: str = __file__) -> dict[str, list[str]]:
    """Return the lines of each example in the table next to a file; they run as doctests."""
    result: dict[str, list[str]] = {}
    table = Path(file).with_name("docstring_examples.txt")
    for line in table.read_text().splitlines():
        if line.startswith("@ "):
            result[line[2:]] = lines = []
        else:
            lines.append(line)
    return result


def attach(namespace: dict[str, Any], file: str = __file__, *imports: str) -> None:
    """Append the examples of the table next to a file to the docstrings of their names."""
    for name, lines in read(file).items():
        described = namespace[name]
        text = described.__doc__
        if text is None or ">>>" in text:  # ``python -OO`` strips docstrings
            continue
        margin = text.rpartition("\n")[2]
        margin = "\n" + (margin if margin.isspace() else "")
        parts = [text.rstrip(), "", "Examples", "--------", *_IMPORTS, *imports, *lines, ""]
        described.__doc__ = margin.join(parts)
