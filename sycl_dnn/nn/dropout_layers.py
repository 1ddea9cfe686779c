# SPDX-License-Identifier: Apache-2.0
"""Layers that drop elements or whole channels in training, as in ``torch.nn``."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module


class Dropout(Module):
    """Sets elements to zero with probability ``p`` in training, as ``torch.nn.Dropout``.

    Parameters
    ----------
    p : float
        0 to 1.
    inplace : bool
        Accepted and ignored: programs plan their own memory.

    Raises
    ------
    ValueError
        ``p`` is not in [0, 1].

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.Dropout(0.5).eval()(F.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be in [0, 1], got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Drop elements of (*)."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return what ``repr`` shows."""
        return f"p={self.p}, inplace={self.inplace}"


class _OfChannels(Dropout):
    n_axes: int

    def forward(self, input: Any) -> Any:
        """Drop channels of (N, C, *S), or of (C, *S)."""
        if not self.training or not self.p:
            return input
        lead = input.ndim - self.n_axes
        if lead not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: input must have {self.n_axes + 1} or {self.n_axes + 2} "
                f"axes, got shape {input.shape}"
            )
        shape = (*input.shape[:lead], *(1,) * self.n_axes)
        kept = F.dropout(F.ones(shape, dtype=str(input.dtype)), self.p, True)
        return F.mul(input, kept)


class _Alpha(Dropout):
    """Preserves the mean and variance of SELU's output."""

    def forward(self, input: Any) -> Any:
        """Set elements of (*) to SELU's minimum."""
        if not self.training or not self.p:
            return input
        low, kept = -1.7580993408473766, 1.0 - self.p
        a = 1 / math.sqrt(kept * (1 + self.p * low**2)) if kept else 0.0
        ones = F.ones(input.shape, dtype=str(input.dtype))
        mask = F.mul(F.dropout(ones, self.p, True), kept)
        made = F.add(F.mul(input, mask), F.mul(F.sub(1.0, mask), low))
        return F.add(F.mul(made, a), -a * low * self.p)


_TEXT = """Sets whole channels to zero with probability ``p``, as ``torch.nn.{name}``.

    Parameters
    ----------
    p : float
    inplace : bool
        Accepted and ignored.
    """


def _named(n: int) -> type:
    name = f"Dropout{n}d"
    own = {"n_axes": n, "__doc__": _TEXT.format(name=name), "__module__": __name__}
    return type(name, (_OfChannels,), own)


Dropout1d, Dropout2d, Dropout3d = (_named(n) for n in (1, 2, 3))


class AlphaDropout(_Alpha):
    """Dropout for networks of SELU, as ``torch.nn.AlphaDropout``.

    Parameters
    ----------
    p : float
    inplace : bool
        Accepted and ignored.
    """
