# SPDX-License-Identifier: Apache-2.0
"""Layers that draw in training: dropout of elements or channels, and RReLU."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module
from sycl_dnn.trace.torch_methods import overwritten


class Dropout(Module):
    """Sets elements to zero with probability ``p`` in training, as ``torch.nn.Dropout``.

    Parameters
    ----------
    p : float
        Between 0 and 1.
    inplace : bool
        Accepted and ignored: programs plan their memory.

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

    _shown = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be in [0, 1], got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Apply dropout to (*)."""
        return F.dropout(input, self.p, self.training, self.inplace)


_TEXT = """``sycl_dnn.functional.{function}`` as a module: ``torch.nn.{name}``.

    Parameters
    ----------
    p : float
        0 to 1.
    inplace : bool
        Accepted and ignored.
    """


def _layer(name: str, function: str, takes_inplace: bool) -> type:
    of_array = getattr(F, function)

    def forward(self: Any, input: Any) -> Any:
        """Call the function."""
        # torch ignores inplace in the dropout layers for SELU too.
        return of_array(input, self.p, self.training, takes_inplace and self.inplace)

    text = _TEXT.format(name=name, function=function)
    return type(name, (Dropout,), {"forward": forward, "__doc__": text, "__module__": __name__})


Dropout1d, Dropout2d, Dropout3d = (_layer(f"Dropout{n}d", f"dropout{n}d", True) for n in (1, 2, 3))
AlphaDropout = _layer("AlphaDropout", "alpha_dropout", False)
FeatureAlphaDropout = _layer("FeatureAlphaDropout", "feature_alpha_dropout", False)


class RReLU(Module):
    """``sycl_dnn.functional.rrelu`` as a module: ``torch.nn.RReLU``.

    Parameters
    ----------
    lower, upper : float
        Bounds of the slopes; in evaluation all slopes are their mean.
    inplace : bool
        As for ``rrelu``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.RReLU(0.5, 1.5).eval()(-F.ones(2)).tolist()
    [-1.0, -1.0]
    """

    _shown = ("lower", "upper", ("inplace", False))

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Any) -> Any:
        """Apply the activation to (*)."""
        result = F.rrelu(input, self.lower, self.upper, self.training)
        return overwritten(input, "RReLU", result) if self.inplace else result
