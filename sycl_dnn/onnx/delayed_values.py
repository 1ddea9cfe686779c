# SPDX-License-Identifier: Apache-2.0
"""Values that are computed when an operator reads them, in the form in which it reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Delayed:
    """A floating-point value, computed at the first operator that reads it as such."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def value(self) -> Any:
        """Return the value."""
        if self._made is None:
            self._made = self._make()
        return self._made


class Padded(Delayed):
    """An array with zeros around its last axes, ``pads`` before and after each of these."""

    def __init__(self, make: Callable[[], Any], x: Any, pads: Sequence[tuple[int, int]]) -> None:
        super().__init__(make)
        self.x, self.pads = x, pads


class Dequantized(Delayed):
    """8-bit integers with a scale; ``zero`` may be None, ``axis`` is for several scales."""

    def __init__(self, make: Callable[[], Any], x: Any, scale: Any, zero: Any, axis: int) -> None:
        super().__init__(make)
        self.x, self.scale, self.zero, self.axis = x, scale, zero, axis


class Product(Delayed):
    """A product of quantized values; ``quantized(scale, zero, dtype)`` returns it as integers."""

    def __init__(self, make: Callable[[], Any], quantized: Callable[..., Any]) -> None:
        super().__init__(make)
        self.quantized = quantized


def as_written(call: Any, *inputs: Any) -> Callable[[], Any]:
    """Return a function that computes the operator as written in the model."""
    body = call.node.operator.body
    return lambda: opened(body(call, *map(opened, inputs)))


def opened(value: Any) -> Any:
    """Return a value, computing it first if it is delayed."""
    return value.value() if isinstance(value, Delayed) else value
