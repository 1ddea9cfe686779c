# SPDX-License-Identifier: Apache-2.0
"""Code generation for coordinates of elements and for gathered elements."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.kernels.spirv import Kernel, Value


def coordinates(
    k: Kernel, kind: str, stride: Value | None, start: Value, at: Value | None, width: int
) -> Value:
    """Return the offsets of elements from an array's start, as i32; no array has 2**31 elements.

    ``kind``: the class of the array's stride along vectors: 0, 1 or any (n); ``stride``: of class
    n; ``start``: where the array's vectors begin, i64; ``at``: the first element along the vectors,
    i32.
    """
    first = k.converted(start, "i32")
    if kind == "0" or at is None:
        return first
    columns = k.call("add", k.repeated(at, width), k.counting("i32", width))
    if kind == "n":
        assert stride is not None
        columns = k.call("mul", columns, stride)
    return k.call("add", columns, first)


def offsets_of(
    k: Kernel, indices: Sequence[Value], axes: Sequence[tuple[Value, Value]]
) -> tuple[Value, Value]:
    """Return the offset of indexed elements from an array's start, as i32: what all have, the rest.

    Apart, because the rest is often equal in neighboring rows. Indices are clamped to the array.
    ``axes`` has size and stride of each indexed axis.
    """
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    totals = {True: zero, False: zero}
    for index, (size, stride) in zip(indices, axes, strict=True):
        last = k.converted(k.call("sub", size, one), index.type)
        nearest = k.call("min", k.call("max", index, k.constant(0, index.type)), last)
        offset = k.call("mul", k.converted(nearest, "i32"), stride)
        is_equal = index.width == 1
        totals[is_equal] = k.call("add", totals[is_equal], offset)
    return totals[True], totals[False]


def loaded_lanes(k: Kernel, pointer: Value, start: Value, offsets: Value, *, in_one: bool) -> Value:
    """Return elements at different offsets.

    With ``in_one``, neighbors in ascending or descending order are loaded in one access.
    """
    width, first = offsets.width, k.lane(offsets, 0)

    def joined() -> Value:
        lanes = []
        for lane in range(width):
            index = k.call("add", start, k.converted(k.lane(offsets, lane), "i64"))
            lanes.append(k.load(pointer, index))
        return k.joined(lanes)

    if not in_one or width == 1:
        return joined()
    last = k.lane(offsets, width - 1)
    steps, row = k.counting("i32", width), k.repeated(first, width)
    is_row = k.holds_in_all(k.call("eq", offsets, k.call("add", row, steps)))
    is_back = k.holds_in_all(k.call("eq", offsets, k.call("sub", row, steps)))
    elements = k.variable(k.constant(0, pointer.type, width))
    for holds, lowest in ((is_row, first), (is_back, last)):
        with k.when(holds):
            index = k.call("add", start, k.converted(lowest, "i64"))
            row_elements = k.load(pointer, index, width)
            k.assign(elements, row_elements if holds is is_row else k.turned(row_elements))
    is_either = k.call("or", is_row, is_back)
    with k.when(k.select(is_either, k.constant(0, "bool"), k.constant(1, "bool"))):
        k.assign(elements, joined())
    return k.current(elements)
