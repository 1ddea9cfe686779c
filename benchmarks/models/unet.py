# SPDX-License-Identifier: Apache-2.0
"""U-Net over ``sycl_dnn.functional``, with padded convolutions and batch normalization.

Source: Ronneberger et al., U-Net, 2015.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from models import drawn
from sycl_dnn import functional as F


@dataclasses.dataclass(frozen=True)
class Config:
    """Channels of the input, of each level and of the result."""

    inputs: int = 3
    widths: tuple[int, ...] = (32, 64, 128, 256)
    outputs: int = 2


def shapes(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    before = config.inputs
    for i, width in enumerate(config.widths):
        yield from _double(f"down.{i}", before, width)
        before = width
    for i, width in enumerate(config.widths[-2::-1]):
        yield f"up.{i}.turned.weight", (before, width, 2, 2)
        yield f"up.{i}.turned.bias", (width,)
        yield from _double(f"up.{i}", 2 * width, width)
        before = width
    yield "last.weight", (config.outputs, before, 1, 1)
    yield "last.bias", (config.outputs,)


def _double(at: str, inputs: int, outputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for i, before in enumerate((inputs, outputs)):
        yield f"{at}.{i}.conv.weight", (outputs, before, 3, 3)
        for name in ("weight", "bias", "running_mean", "running_var"):
            yield f"{at}.{i}.norm.{name}", (outputs,)


def random_parameters(config: Config, seed: int = 0) -> dict[str, np.ndarray]:
    """Return parameters that keep the size of activations from layer to layer."""
    return drawn(
        shapes(config), lambda n, s: 2 / (s[0] if "turned" in n else math.prod(s[1:])), seed
    )


def forward(p: dict[str, Any], config: Config, x: Any) -> Any:
    """Map images (N, C, H, W) to scores (N, K, H, W)."""
    skips = []
    for i in range(len(config.widths)):
        x = x if i == 0 else F.max_pool2d(x, 2)
        x = _convolved(p, f"down.{i}", x)
        skips.append(x)
    for i, skip in enumerate(skips[-2::-1]):
        weight, bias = p[f"up.{i}.turned.weight"], p[f"up.{i}.turned.bias"]
        x = F.cat([skip, F.conv_transpose2d(x, weight, bias, stride=2)], 1)
        x = _convolved(p, f"up.{i}", x)
    return F.conv2d(x, p["last.weight"], p["last.bias"])


def _convolved(p: dict[str, Any], at: str, x: Any) -> Any:
    for i in (0, 1):
        x = F.conv2d(x, p[f"{at}.{i}.conv.weight"], padding=1)
        norm = f"{at}.{i}.norm."
        running = p[f"{norm}running_mean"], p[f"{norm}running_var"]
        x = F.relu(F.batch_norm(x, *running, p[f"{norm}weight"], p[f"{norm}bias"]))
    return x
