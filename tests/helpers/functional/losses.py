# SPDX-License-Identifier: Apache-2.0
"""What the tests of losses share."""

from __future__ import annotations

from typing import Any

import numpy as np
from functional.case import Case, Spec

from sycl_dnn import functional as F


def reduced(elements: np.ndarray, reduction: str, divisor: Any = None) -> np.ndarray:
    """Return the elements, their sum, or their sum over ``divisor`` (their number)."""
    if reduction == "none":
        return elements
    if reduction == "sum":
        return np.asarray(elements.sum())
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.float64(elements.sum()) / (elements.size if divisor is None else divisor)
        )


def make(name: str, reference: Any, specs: tuple[Any, ...], dtype: str = "float32",
         **kwargs: Any) -> Case:  # fmt: skip
    """Return the case of a loss, named after its shapes and parameters."""
    shapes = [f"{'x'.join(map(str, s.shape))}{s.layout[:3]}" for s in specs if isinstance(s, Spec)]
    words = [f"{k}={v}" for k, v in kwargs.items()]
    return Case("-".join([name, *shapes, *words]), getattr(F, name), reference, specs, kwargs,
                torch=name, dtype=dtype)  # fmt: skip
