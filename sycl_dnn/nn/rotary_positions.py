# SPDX-License-Identifier: Apache-2.0
"""``RotaryEmbedding``: rotary position embedding."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module


class RotaryEmbedding(Module):
    """Rotary position embedding; pairs are formed from the two halves of the last axis.

    Parameters
    ----------
    dim : int
        Number of features to rotate, even: the width of a head.
    base : float

    Raises
    ------
    ValueError
        ``dim`` is odd.

    Notes
    -----
    Source: Su et al., arXiv:2104.09864, with LLaMA's half-split pairs.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.RotaryEmbedding(8)(F.randn(2, 3, 5, 8)).shape
    (2, 3, 5, 8)
    """

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__()
        if dim % 2:
            raise ValueError(f"RotaryEmbedding: dim must be even, got {dim}")
        self.dim, self.base = dim, base
        powers = F.arange(0.0, float(dim), 2.0)
        frequencies = F.pow(base, F.mul(powers, -1.0 / dim))
        self.register_buffer("inv_freq", frequencies, persistent=False)

    def forward(self, x: Any, offset: Any = 0) -> Any:
        """Rotate (*, T, dim); the first position is ``offset``, a number or an array ()."""
        positions = F.add(F.arange(float(x.shape[-2])), offset)
        angles = F.outer(positions, self.inv_freq)
        cos, sin = F.cos(angles), F.sin(angles)
        a, b = F.chunk(F.astype(x, "float32"), 2, -1)
        rotated = [F.sub(F.mul(a, cos), F.mul(b, sin)), F.add(F.mul(b, cos), F.mul(a, sin))]
        return F.astype(F.cat(rotated, -1), str(x.dtype))
