# SPDX-License-Identifier: Apache-2.0
"""MobileNetV3 (large) over ``sycl_dnn.functional``.

Source: Howard et al., Searching for MobileNetV3, 2019, table 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from models import drawn
from sycl_dnn import functional as F


class Block(NamedTuple):
    """An inverted residual: kernel, channels inside and after, gate, activation, stride."""

    kernel: int
    inner: int
    outputs: int
    has_gate: bool
    activation: str
    stride: int


#: The rows of the table.
LARGE = (
    Block(3, 16, 16, False, "relu", 1),
    Block(3, 64, 24, False, "relu", 2),
    Block(3, 72, 24, False, "relu", 1),
    Block(5, 72, 40, True, "relu", 2),
    Block(5, 120, 40, True, "relu", 1),
    Block(5, 120, 40, True, "relu", 1),
    Block(3, 240, 80, False, "hardswish", 2),
    Block(3, 200, 80, False, "hardswish", 1),
    Block(3, 184, 80, False, "hardswish", 1),
    Block(3, 184, 80, False, "hardswish", 1),
    Block(3, 480, 112, True, "hardswish", 1),
    Block(3, 672, 112, True, "hardswish", 1),
    Block(5, 672, 160, True, "hardswish", 2),
    Block(5, 960, 160, True, "hardswish", 1),
    Block(5, 960, 160, True, "hardswish", 1),
)
FIRST, LAST, HIDDEN, CLASSES = 16, 960, 1280, 1000


def gate_width(inner: int) -> int:
    """Return the channels inside a gate: a quarter, in multiples of 8, at least 90 % of that."""
    result = max(8, (inner // 4 + 4) // 8 * 8)
    return result + 8 if result < 0.9 * (inner / 4) else result


def shapes(blocks: tuple[Block, ...] = LARGE) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every parameter."""
    yield from _conv("first", FIRST, 3, 3)
    before = FIRST
    for i, b in enumerate(blocks):
        if b.inner != before:
            yield from _conv(f"{i}.expand", b.inner, before, 1)
        yield from _conv(f"{i}.depthwise", b.inner, 1, b.kernel)
        if b.has_gate:
            width = gate_width(b.inner)
            for name, outputs, inputs in (("fc1", width, b.inner), ("fc2", b.inner, width)):
                yield f"{i}.gate.{name}.weight", (outputs, inputs, 1, 1)
                yield f"{i}.gate.{name}.bias", (outputs,)
        yield from _conv(f"{i}.project", b.outputs, b.inner, 1)
        before = b.outputs
    yield from _conv("last", LAST, before, 1)
    for name, outputs, inputs in (("hidden", HIDDEN, LAST), ("classes", CLASSES, HIDDEN)):
        yield f"{name}.weight", (outputs, inputs)
        yield f"{name}.bias", (outputs,)


def _conv(name: str, outputs: int, inputs: int, k: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (outputs, inputs, k, k)
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.norm.{part}", (outputs,)


def random_parameters(seed: int = 0, blocks: tuple[Block, ...] = LARGE) -> dict[str, np.ndarray]:
    """Return parameters that keep the size of activations from layer to layer."""
    return drawn(shapes(blocks), lambda _, shape: 2 / math.prod(shape[1:]), seed)


def forward(p: dict[str, Any], x: Any, blocks: tuple[Block, ...] = LARGE) -> Any:
    """Map images (N, 3, H, W) to logits (N, 1000)."""
    x = F.hardswish(_normed(p, "first", x, stride=2, padding=1))
    for i, block in enumerate(blocks):
        x = residual(p, f"{i}.", x, block)
    x = F.hardswish(_normed(p, "last", x))
    x = F.flatten(F.adaptive_avg_pool2d(x, 1), 1)
    x = F.hardswish(F.linear(x, p["hidden.weight"], p["hidden.bias"]))
    return F.linear(x, p["classes.weight"], p["classes.bias"])


def residual(p: dict[str, Any], at: str, x: Any, block: Block) -> Any:
    """Return the result of one inverted residual for (N, C, H, W)."""
    act = getattr(F, block.activation)
    y = x
    if f"{at}expand.weight" in p:
        y = act(_normed(p, f"{at}expand", y))
    options = {"stride": block.stride, "padding": block.kernel // 2, "groups": block.inner}
    y = act(_normed(p, f"{at}depthwise", y, **options))
    if block.has_gate:
        y = y * _gate(p, f"{at}gate.", y)
    y = _normed(p, f"{at}project", y)
    return x + y if y.shape == x.shape else y


def _gate(p: dict[str, Any], at: str, x: Any) -> Any:
    y = F.adaptive_avg_pool2d(x, 1)
    y = F.relu(F.conv2d(y, p[f"{at}fc1.weight"], p[f"{at}fc1.bias"]))
    return F.hardsigmoid(F.conv2d(y, p[f"{at}fc2.weight"], p[f"{at}fc2.bias"]))


def _normed(p: dict[str, Any], name: str, x: Any, **options: Any) -> Any:
    y = F.conv2d(x, p[f"{name}.weight"], **options)
    norm = f"{name}.norm."
    running = p[f"{norm}running_mean"], p[f"{norm}running_var"]
    return F.batch_norm(y, *running, p[f"{norm}weight"], p[f"{norm}bias"])
