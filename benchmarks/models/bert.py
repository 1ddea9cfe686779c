# SPDX-License-Identifier: Apache-2.0
"""The encoder of BERT over ``sycl_dnn.functional``; parameters are named as in transformers.

Source: Devlin et al., BERT, 2018 (base: 12 layers, 768 features, 12 heads).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from models import drawn
from sycl_dnn import functional as F


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of the network."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    inner: int = 3072


def shapes(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    w, inner = config.width, config.inner
    for i in range(config.layers):
        at = f"layer.{i}."
        for name in ("query", "key", "value"):
            yield from _linear(f"{at}attention.self.{name}", w, w)
        yield from _linear(f"{at}attention.output.dense", w, w)
        yield from _linear(f"{at}intermediate.dense", inner, w)
        yield from _linear(f"{at}output.dense", w, inner)
        for name in ("attention.output", "output"):
            for part in ("weight", "bias"):
                yield f"{at}{name}.LayerNorm.{part}", (w,)


def _linear(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def random_parameters(config: Config, seed: int = 0) -> dict[str, np.ndarray]:
    """Return parameters that keep the size of activations from layer to layer."""
    return drawn(shapes(config), lambda _, shape: 1 / shape[1], seed)


def forward(p: dict[str, Any], config: Config, x: Any) -> Any:
    """Map hidden states (B, S, W) to hidden states (B, S, W)."""
    for i in range(config.layers):
        x = layer(p, config, f"layer.{i}.", x)
    return x


def layer(p: dict[str, Any], config: Config, at: str, x: Any) -> Any:
    """Return the result of one layer for hidden states (B, S, W)."""
    y = attention(p, config, f"{at}attention.self.", x)
    x = _normed(p, f"{at}attention.output.", x + _dense(p, f"{at}attention.output.dense", y))
    y = F.gelu(_dense(p, f"{at}intermediate.dense", x))
    return _normed(p, f"{at}output.", x + _dense(p, f"{at}output.dense", y))


def attention(p: dict[str, Any], config: Config, at: str, x: Any) -> Any:
    """Return self-attention of (B, S, W)."""
    batch, length, width = x.shape
    shape = (batch, length, config.heads, width // config.heads)
    q, k, v = (
        F.transpose(F.reshape(_dense(p, f"{at}{name}", x), shape), 1, 2)
        for name in ("query", "key", "value")
    )
    result = F.scaled_dot_product_attention(q, k, v)
    return F.reshape(F.transpose(result, 1, 2), (batch, length, width))


def _dense(p: dict[str, Any], name: str, x: Any) -> Any:
    return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])


def _normed(p: dict[str, Any], at: str, x: Any) -> Any:
    weight, bias = p[f"{at}LayerNorm.weight"], p[f"{at}LayerNorm.bias"]
    return F.layer_norm(x, weight.shape, weight, bias, 1e-12)
