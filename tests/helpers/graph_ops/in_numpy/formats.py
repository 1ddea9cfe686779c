# SPDX-License-Identifier: Apache-2.0
"""The table of references; conversions between formats of the Graph API and of primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
#: Tensors by the names of the operation's row; sequences of them for ``concat``.
Tensors = Mapping[str, Any]
Attrs = Mapping[str, Any]
Shapes = Sequence[tuple[int, ...]]
#: (name, tensors, attributes, shapes of the results) -> results
Reference = Callable[[str, Tensors, Attrs, Shapes], list[Array]]

OPERATIONS: dict[str, Reference] = {}


def operation(*names: str) -> Callable[[Reference], Reference]:
    """Register a function as the reference of these operations."""

    def keep(function: Reference) -> Reference:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return keep


# --- Data and weights from the formats of the Graph API to those of primitives, and back


def first(x: Array, a: Attrs) -> Array:
    """Move channels to the second axis."""
    return np.moveaxis(x, -1, 1) if a["data_format"] == "NXC" else x


def back(x: Array, a: Attrs) -> Array:
    """Undo `first`."""
    return np.moveaxis(x, 1, -1) if a["data_format"] == "NXC" else x


def weights(w: Array, a: Attrs) -> Array:
    """Return weights as (first letter, second letter, *kernel) of OIX or IOX."""
    if a["weights_format"] in ("XIO", "XOI"):
        return np.moveaxis(w, (-1, -2), (0, 1))
    return w


def unweights(w: Array, a: Attrs) -> Array:
    """Undo `weights`."""
    if a["weights_format"] in ("XIO", "XOI"):
        return np.moveaxis(w, (0, 1), (-1, -2))
    return w


def grouped(w: Array, groups: int) -> Array:
    """Return weights with the groups as the first axis."""
    return w if groups == 1 else w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def geometry(a: Attrs, spatial: Sequence[int], kernel: Sequence[int]) -> dict[str, Any]:
    """Return strides, dilates and paddings of the primitives, whose dilation counts from 0."""
    dilations = a.get("dilations") or (1,) * len(spatial)
    low, high = list(a["pads_begin"]), list(a["pads_end"])
    for i, n in enumerate(spatial):
        reach = dilations[i] * (kernel[i] - 1) + 1
        if a.get("auto_pad", "None").startswith("SAME"):
            total = max((-(-n // a["strides"][i]) - 1) * a["strides"][i] + reach - n, 0)
            small = total // 2
            upper = a["auto_pad"] == "SAME_UPPER"
            low[i], high[i] = (small, total - small) if upper else (total - small, small)
        elif a.get("auto_pad") == "VALID":
            low[i] = high[i] = 0
    dilates = [d - 1 for d in dilations]
    return {
        "strides": a["strides"],
        "dilates": dilates,
        "dilation": dilates,
        "padding_l": low,
        "padding_r": high,
    }


def formed(shape: Sequence[int], a: Attrs) -> tuple[int, ...]:
    """Return a shape with its channels second."""
    return (shape[0], shape[-1], *shape[1:-1]) if a["data_format"] == "NXC" else tuple(shape)
