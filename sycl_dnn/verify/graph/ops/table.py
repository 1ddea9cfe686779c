# SPDX-License-Identifier: Apache-2.0
"""The table of references: builder's name of an operation -> function in NumPy and float64."""

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
    """Keep a function as the reference of these operations."""

    def keep(function: Reference) -> Reference:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return keep
