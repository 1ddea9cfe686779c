# SPDX-License-Identifier: Apache-2.0
"""Averages of weights over training steps."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.onednn import dtypes


class EMA:
    """The exponential average of a tree: ``decay * average + (1 - decay) * new``.

    The average of bfloat16 and float16 arrays is float32: small steps would be rounded away.

    Parameters
    ----------
    decay : float
        0 to 1.

    Raises
    ------
    ValueError
        ``decay`` is outside [0, 1].

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> ema = optim.EMA(0.5)
    >>> average = ema.init({"w": F.zeros(2)})
    >>> ema.update(average, {"w": F.ones(2)})["w"].tolist()
    [0.5, 0.5]
    """

    def __init__(self, decay: float = 0.999) -> None:
        if not 0 <= decay <= 1:
            raise ValueError(f"EMA: decay must be in [0, 1], got {decay}")
        self.decay = decay

    def init(self, params: Any) -> Any:
        """Return the initial average: copies of the arrays, in float32 if they are narrower."""
        return tree.map(_first, params)

    def update(self, average: Any, params: Any) -> Any:
        """Return the average after a step; integers are taken from ``params``."""
        return tree.map(self._one, average, params)

    def _one(self, old: Any, new: Any) -> Any:
        if not _is_float(old):
            return new
        dtype = str(old.dtype)
        made = F.add(F.mul(old, self.decay), F.mul(F.astype(new, dtype), 1.0 - self.decay))
        return F.astype(made, dtype)


def _is_float(value: Any) -> bool:
    return hasattr(value, "shape") and dtypes.is_float(str(value.dtype))


def _first(value: Any) -> Any:
    if _is_float(value) and str(value.dtype) not in ("float32", "float64"):
        return F.astype(value, "float32")
    return value.copy() if hasattr(value, "shape") else value
