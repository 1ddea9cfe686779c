# SPDX-License-Identifier: Apache-2.0
"""The loop of a group over its units, whose coordinates are counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sycl_dnn.kernels.spirv import Kernel, Value


@contextlib.contextmanager
def unit_loop(
    k: Kernel, first: Value, last: Value, sizes: Sequence[Value]
) -> Iterator[list[Value]]:
    """Generate a loop over indices; yield the coordinates of each, outermost first.

    Coordinates are incremented, since divisions would cost as much as a short row.
    """
    one = k.constant(1, "i32")
    if len(sizes) == 1:
        with k.loop(first, last, one) as unit:
            yield [unit]
        return
    coordinates = [k.variable(c) for c in _divided(k, first, sizes)]
    with k.loop(first, last, one):
        yield [k.current(c) for c in coordinates]
        _count_on(k, coordinates, sizes)


def _divided(k: Kernel, number: Value, sizes: Sequence[Value]) -> list[Value]:
    """Generate the decomposition of an index into coordinates, outermost first."""
    inner = []
    for size in reversed(sizes[1:]):
        inner.append(k.call("rem", number, size))
        number = k.call("div", number, size)
    return [number, *reversed(inner)] if sizes else []


def _count_on(k: Kernel, coordinates: Sequence[Value], sizes: Sequence[Value]) -> None:
    """Generate the increment of coordinate variables to the next index."""
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    carry = one
    for axis in reversed(range(len(coordinates))):
        incremented = k.call("add", k.current(coordinates[axis]), carry)
        if axis:
            is_over = k.call("eq", incremented, sizes[axis])
            incremented = k.select(is_over, zero, incremented)
            carry = k.select(is_over, one, zero)
        k.assign(coordinates[axis], incremented)
