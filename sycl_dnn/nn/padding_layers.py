# SPDX-License-Identifier: Apache-2.0
"""Padding layers, and other small layers that are not rows of ``function_layers``."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import init
from sycl_dnn.nn.function_layers import LAYERS
from sycl_dnn.nn.linear_layers import new_parameter
from sycl_dnn.nn.module import Module

_Upsample: Any = LAYERS["Upsample"]

_TEXT = """Pads the last {n} axes: {mode}, as ``torch.nn.{name}``.

    Parameters
    ----------
    padding : int or tuple of int
        On all sides, or (before, after) of the last axis, then of the one before it.{more}
    """
_MORE = "\n    value : float"
_MODES = {"Zero": "constant", "Constant": "constant", "Reflection": "reflect",
          "Replication": "replicate", "Circular": "circular"}  # fmt: skip


class _Pad(Module):
    n_axes: int
    mode: str
    _shown: tuple[str, ...] = ("=padding",)

    def __init__(self, padding: Any) -> None:
        super().__init__()
        n = 2 * self.n_axes
        self.padding = (padding,) * n if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != n:
            kind = type(self).__name__
            raise ValueError(f"{kind}: padding must be {n} numbers, got {self.padding}")
        self.value = 0.0

    def forward(self, input: Any) -> Any:
        """Pad (N, C, *S)."""
        value = self.value if self.mode == "constant" else None
        return F.pad(input, self.padding, self.mode, value)


class _Constant(_Pad):
    _shown = ("padding", "value")

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


def _named(word: str, n: int) -> type:
    name, base = f"{word}Pad{n}d", _Constant if word == "Constant" else _Pad
    parameters = _MORE if word == "Constant" else ""
    text = _TEXT.format(n=n, mode=_MODES[word], name=name, more=parameters)
    namespace = {"n_axes": n, "mode": _MODES[word], "__doc__": text, "__module__": __name__}
    return type(name, (base,), namespace | {"__module__": __name__})


#: The classes by name.
PADS = {f"{word}Pad{n}d": _named(word, n) for word in _MODES for n in (1, 2, 3)}
globals().update(PADS)  # pickle looks classes up by module and name


class PReLU(Module):
    """Leaky ReLU with a learned slope, as ``torch.nn.PReLU``.

    Parameters
    ----------
    num_parameters : int
        1, or the number of channels.
    init : float
        The initial slope.
    device, dtype
        As ``Linear``.
    """

    _shown = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = new_parameter((num_parameters,), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the slopes."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Map (N, C, *S)."""
        return F.prelu(input, self.weight)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W), as ``torch.nn.Softmax2d``."""

    def forward(self, input: Any) -> Any:
        """Return probabilities."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class PairwiseDistance(Module):
    """The distance between rows, as ``torch.nn.PairwiseDistance``.

    Parameters
    ----------
    p, eps : float
    keepdim : bool
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return the distances between the rows of (N, D) and (N, D)."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class UpsamplingNearest2d(_Upsample):
    """``Upsample`` of images by the nearest pixel, as ``torch.nn.UpsamplingNearest2d``.

    Parameters
    ----------
    size, scale_factor
        As ``sycl_dnn.functional.interpolate``.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(_Upsample):
    """``Upsample`` of images with corners aligned, as ``torch.nn.UpsamplingBilinear2d``.

    Parameters
    ----------
    size, scale_factor
        As ``sycl_dnn.functional.interpolate``.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
