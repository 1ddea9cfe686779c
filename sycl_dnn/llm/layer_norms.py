# SPDX-License-Identifier: Apache-2.0
"""Normalization layers of decoders, and activations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.llm.architectures import Config
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter

#: ``weights(name, shape)`` returns the array of a parameter.
Weights = Callable[[str, tuple[int, ...]], Any]


def activated(x: Any, name: str) -> Any:
    """Apply an activation of ``ACTIVATIONS``."""
    if name == "gelu_tanh":
        return F.gelu(x, approximate="tanh")
    return getattr(F, name)(x)


class RMSNorm(Module):
    """``F.rms_norm``, optionally with 1 added to the weights."""

    def __init__(self, weights: Weights, name: str, width: int, eps: float, of_one: bool) -> None:
        super().__init__()
        self.eps, self.of_one = eps, of_one
        self.weight = Parameter(weights(f"{name}.weight", (width,)))

    def factors(self) -> Any:
        """Return the factor of normalized rows."""
        return F.add(self.weight, 1.0) if self.of_one else self.weight

    def forward(self, x: Any) -> Any:
        """Normalize the last axis."""
        return F.rms_norm(x, self.weight.shape, self.factors(), self.eps)


class LayerNorm(Module):
    """``F.layer_norm`` with given weights."""

    def __init__(self, weights: Weights, name: str, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = Parameter(weights(f"{name}.weight", (width,)))
        self.bias = Parameter(weights(f"{name}.bias", (width,)))

    def forward(self, x: Any) -> Any:
        """Normalize the last axis."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


def norm(config: Config, weights: Weights, name: str, width: int) -> Module:
    """Return the normalization layer of a config."""
    kind = config.row.norm
    if kind == "layer":
        return LayerNorm(weights, name, width, config.norm_eps)
    return RMSNorm(weights, name, width, config.norm_eps, kind == "rms_of_one")
