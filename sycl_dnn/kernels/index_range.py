# SPDX-License-Identifier: Apache-2.0
"""The largest arrays of kernels, which index elements with 32 bits."""

from __future__ import annotations

#: Elements from the first to the last of an array. Loops step beyond the end by less than the rest.
MAX_SPAN = (1 << 31) - (1 << 16)


def check_span(name: str, span: int) -> None:
    """Raise NotImplementedError if an array spans too many elements."""
    if span > MAX_SPAN:
        raise NotImplementedError(
            f"{name}: arrays must span at most 2**31 - 2**16 elements, got {span}"
        )
