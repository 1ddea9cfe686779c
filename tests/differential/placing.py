# SPDX-License-Identifier: Apache-2.0
"""Values as device arrays in any layout: permuted, strided, reversed, offset, expanded."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (part,)


def placed(values: Any, layout: str, queue: Any) -> Any:
    """Return a view with these values in the named layout."""
    if isinstance(values, float):
        return values
    kind, *rest = layout.split()
    numbers = [int(n) for n in rest]

    def array(v: Any) -> Any:
        return dpnp.asarray(np.array(v, order="C"), sycl_queue=queue)

    if kind == "permuted":
        return dpnp.transpose(array(values.transpose(numbers)), np.argsort(numbers).tolist())
    if kind == "strided":
        axis, step = numbers
        wide = np.repeat(values, step, axis) * np.ones((), values.dtype)
        for i in range(1, step):
            wide[_along(axis, slice(i, None, step))] = 99 if values.dtype != bool else True
        return array(wide)[_along(axis, slice(None, None, step))]
    if kind == "negative":
        return array(np.flip(values, numbers[0]))[_along(numbers[0], slice(None, None, -1))]
    if kind == "expanded":
        return dpnp.broadcast_to(array(values[_along(numbers[0], slice(0, 1))]), values.shape)
    if kind == "column":
        axis = numbers[0]
        wide = np.stack([np.full_like(values, 77), values, np.full_like(values, 55)], axis)
        return array(wide)[(slice(None),) * axis + (1,)]
    if kind == "offset":
        filler = np.full_like(values, 88)
        return array(np.stack([filler, values]))[1]
    return array(values)


def layouts_of(shape: tuple[int, ...]) -> list[str]:
    """Return the layouts that an array of a shape may have."""
    found = ["dense", "offset"]
    for axis in range(len(shape)):
        found += [f"strided {axis} 2", f"strided {axis} 3", f"negative {axis}", f"column {axis}"]
    return found
