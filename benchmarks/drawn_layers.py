# SPDX-License-Identifier: Apache-2.0
"""Random layers of an activation of 1 to 30 MB of float32: bound by memory, and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from layer_cases import Layer

_CHANNELS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 512, 768, 1024, 2048)
_SIDES = (7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112)
_SMALLEST, _LARGEST = 1 << 18, 30 << 18
Shape = tuple[int, ...]
#: Function, shapes, additional arguments.
Drawn = tuple[str, tuple[Shape, ...], dict[str, Any]]


def _image(rng: np.random.Generator) -> Shape:
    """Return a shape (N, C, H, W) whose size is drawn with a uniform logarithm."""
    while True:
        size = np.exp(rng.uniform(np.log(_SMALLEST), np.log(_LARGEST)))
        channels, side = int(rng.choice(_CHANNELS)), int(rng.choice(_SIDES))
        n = round(size / (channels * side * side))
        if n and _SMALLEST <= n * channels * side * side <= _LARGEST:
            return (n, channels, side, side)


def _vectors(x: Shape, n: int) -> tuple[Shape, ...]:
    return (x, *(((x[1],),) * n))


def _groups(rng: np.random.Generator, x: Shape) -> int:
    return int(rng.choice([g for g in (1, 4, 8, 16, 32, x[1]) if x[1] % g == 0]))


#: Operations of a convolution.
_MOST_WORK = 2e9


def _convolution(rng: np.random.Generator, x: Shape, groups: int = 1) -> Drawn:
    """Return a convolution of 1x1 or 3x3 with stride 1 or 2."""
    n, channels, side, _ = x
    outputs = [channels] if groups == channels else [c for c in _CHANNELS if c % groups == 0]
    work = math.inf
    while work > _MOST_WORK:
        out, kernel, stride = (int(rng.choice(v)) for v in (outputs, (1, 3), (1, 2)))
        work = 2 * n * (-(-side // stride) * kernel) ** 2 * out * channels // groups
    shapes = (x, (out, channels // groups, kernel, kernel), (out,))
    return "conv2d", shapes, {"stride": stride, "padding": kernel // 2, "groups": groups}


def _more_groups(rng: np.random.Generator, channels: int) -> int:
    """Return a divisor above 1: the number of channels, which is depthwise, every second time."""
    divisors = [g for g in range(2, channels + 1) if channels % g == 0]
    return channels if rng.random() < 0.5 else int(rng.choice(divisors))


#: What each makes of a shape.
FAMILIES: dict[str, Callable[[np.random.Generator, Shape], Drawn]] = {
    "batch_norm training": lambda rng, x: ("batch_norm", _vectors(x, 2), {"training": True}),
    "batch_norm inference": lambda rng, x: ("batch_norm", _vectors(x, 4), {}),
    "group_norm": lambda rng, x: ("group_norm", _vectors(x, 2), {"num_groups": _groups(rng, x)}),
    "global average": lambda rng, x: ("adaptive_avg_pool2d", (x,), {"output_size": 1}),
    "silu": lambda rng, x: ("silu", (x,), {}),
    "relu": lambda rng, x: ("relu", (x,), {}),
    "softmax over channels": lambda rng, x: ("softmax", (x,), {"dim": 1}),
    "bilinear resize": lambda rng, x: (
        "interpolate", (x,), {"scale_factor": 2, "mode": "bilinear"}),
    "max pool": lambda rng, x: ("max_pool2d", (x,), {"kernel_size": 3, "stride": 2}),
    "sum of positions": lambda rng, x: ("sum", (x,), {"dim": (2, 3)}),
    "convolution": lambda rng, x: _convolution(rng, x),
    "grouped convolution": lambda rng, x: _convolution(rng, x, _more_groups(rng, x[1])),
}  # fmt: skip


def drawn(count: int, seed: int) -> Iterator[Layer]:
    """Yield ``count`` layers of each family; each has its own dtype and layout."""
    for number, (family, make) in enumerate(FAMILIES.items()):
        rng = np.random.default_rng((seed, number))
        for _ in range(count):
            function, shapes, kwargs = make(rng, _image(rng))
            layout = str(rng.choice(["channels_last", "row_major"]))
            dtype = str(rng.choice(["float32", "bfloat16"]))
            more = "".join(f" {k}={v}" for k, v in kwargs.items() if k in ("num_groups", "groups"))
            if function == "conv2d":
                more = f" {'x'.join(map(str, shapes[1]))}/{kwargs['stride']}{more}"
            name = f"{family} {'x'.join(map(str, shapes[0]))}{more} {layout}"
            # The gradient of torch's sum is a view of one number for each channel.
            passes = ("forward",) if function == "sum" else ("forward", "backward")
            yield Layer(name, function, shapes, kwargs, True, (dtype,), passes, layout)
