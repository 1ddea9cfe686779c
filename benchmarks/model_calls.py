# SPDX-License-Identifier: Apache-2.0
"""What the libraries of `model_workers.py` share: calls by variant, nested arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Only in our library: integers throughout, or only as weights.
OWN_DTYPES = ("int8", "w8", "w4")
Calls = dict[str, Callable[[], Any]]


def first(result: Any) -> Any:
    """Return the first array of a result."""
    return result[0] if isinstance(result, (tuple, list)) else result


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested lists with ``change`` applied to the arrays."""
    return [mapped(v, change) for v in value] if isinstance(value, list) else change(value)


def flat(values: list[Any]) -> list[np.ndarray]:
    """Return nested arrays in order."""
    return [a for v in values for a in (v if isinstance(v, list) else [v])]
