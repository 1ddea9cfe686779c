# SPDX-License-Identifier: Apache-2.0
"""Marks on traced values that determine the effect of a write."""

from __future__ import annotations

from typing import Any

#: Marks tensors that share memory with one whose value a write has replaced.
ASSIGNMENT = "x[...] = ..."


class ReadAfterWrite(RuntimeError):
    """A value is read that torch may have overwritten, or not."""


class OfOthers(list):  # type: ignore[type-arg]
    """The marks of values that a function does not own; ``written`` handles writes to them."""

    __slots__ = ()

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Handle a write of ``result`` over ``value``; return the value to use from now on."""
        raise NotImplementedError


class OfCaller(OfOthers):
    """The marks of arrays that a function receives or captures."""

    __slots__ = ()


class OfCapture(OfCaller):
    """The marks of captured arrays, which a function cannot write to."""

    __slots__ = ()

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Raise TypeError."""
        raise captured(writer)


def captured(writer: str) -> TypeError:
    """Return the error of a write to a captured array."""
    return TypeError(
        f"{writer}: cannot write to an array that the forward captures; use the result of "
        f"{writer} without inplace"
    )
