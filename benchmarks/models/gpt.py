# SPDX-License-Identifier: Apache-2.0
"""One step of a GPT-2-like decoder over ``sycl_dnn.functional``: a token against a cache.

Source: Radford et al., Language Models are Unsupervised Multitask Learners, 2019 (small: 12
layers, 768 features, 12 heads).
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
    vocabulary: int = 50257


def shapes(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    w = config.width
    for i in range(config.layers):
        for name, outputs, inputs in (
            ("attn.c_attn", 3 * w, w),
            ("attn.c_proj", w, w),
            ("mlp.c_fc", 4 * w, w),
            ("mlp.c_proj", w, 4 * w),
        ):
            yield f"h.{i}.{name}.weight", (outputs, inputs)
            yield f"h.{i}.{name}.bias", (outputs,)
        yield from _norm(f"h.{i}.ln_1", w)
        yield from _norm(f"h.{i}.ln_2", w)
    yield from _norm("ln_f", w)
    yield "lm_head.weight", (config.vocabulary, w)


def _norm(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def random_parameters(config: Config, seed: int = 0) -> dict[str, np.ndarray]:
    """Return parameters that keep the size of activations from layer to layer."""
    return drawn(
        shapes(config), lambda name, shape: (0.09 if "c_proj" in name else 1) / shape[1], seed
    )


def step(p: dict[str, Any], config: Config, x: Any, keys: list[Any], values: list[Any]) -> Any:
    """Return logits (B, V) and the caches with one more row.

    Parameters
    ----------
    x : array (B, 1, W)
        The embedded token.
    keys, values : list of arrays (B, H, S, W / H)
        One for each layer.
    """
    new_keys, new_values = [], []
    for i in range(config.layers):
        at = f"h.{i}."
        y, key, value = _attention(p, config, at, _normed(p, f"{at}ln_1", x), keys[i], values[i])
        new_keys.append(key)
        new_values.append(value)
        x = x + _dense(p, f"{at}attn.c_proj", y)
        y = F.gelu(_dense(p, f"{at}mlp.c_fc", _normed(p, f"{at}ln_2", x)), approximate="tanh")
        x = x + _dense(p, f"{at}mlp.c_proj", y)
    x = _normed(p, "ln_f", x)[:, -1]
    return F.linear(x, p["lm_head.weight"]), new_keys, new_values


def _attention(
    p: dict[str, Any], config: Config, at: str, x: Any, key: Any, value: Any
) -> tuple[Any, Any, Any]:
    batch, length, width = x.shape
    parts = F.split(_dense(p, f"{at}attn.c_attn", x), width, 2)
    shape = (batch, length, config.heads, width // config.heads)
    q, k, v = (F.transpose(F.reshape(t, shape), 1, 2) for t in parts)
    key, value = F.cat([key, k], 2), F.cat([value, v], 2)
    result = F.scaled_dot_product_attention(q, key, value)
    return F.reshape(F.transpose(result, 1, 2), (batch, length, width)), key, value


def _dense(p: dict[str, Any], name: str, x: Any) -> Any:
    return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])


def _normed(p: dict[str, Any], name: str, x: Any) -> Any:
    weight = p[f"{name}.weight"]
    return F.layer_norm(x, weight.shape, weight, p[f"{name}.bias"])
