# SPDX-License-Identifier: Apache-2.0
"""The networks by name: parameters, function, and the shapes of their inputs."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import _resnet50  # noqa: E402

from models import bert, gpt, mobilenet, unet  # noqa: E402

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A network with inputs of one size."""

    #: The module whose global ``F`` the function calls; another library can replace it.
    module: types.ModuleType
    parameters: Callable[[], dict[str, np.ndarray]]
    #: Accepts parameters and arrays; returns an array, or a tuple that starts with one.
    function: Callable[..., Any]
    #: A list means a list of arrays.
    shapes: tuple[Shape | list[Shape], ...]
    #: What a call processes, for rates.
    items: int = 1

    def arrays(self) -> list[Any]:
        """Return the inputs, the same in each process."""
        rng = np.random.default_rng(0)
        make = lambda s: rng.standard_normal(s, dtype=np.float32)  # noqa: E731
        return [[make(i) for i in s] if isinstance(s, list) else make(s) for s in self.shapes]


def _resnet(p: dict[str, Any], x: Any) -> Any:
    network = object.__new__(_resnet50.ResNet50)
    network.parameters = p
    return network(x)


def _bert(length: int, config: bert.Config = bert.Config()) -> Entry:  # noqa: B008
    return Entry(
        bert,
        partial(bert.random_parameters, config),
        lambda p, x: bert.forward(p, config, x),
        ((1, length, config.width),),
    )


def _gpt(past: int, config: gpt.Config = gpt.Config()) -> Entry:  # noqa: B008
    cache = [(1, config.heads, past, config.width // config.heads)] * config.layers
    return Entry(
        gpt,
        partial(gpt.random_parameters, config),
        lambda p, x, k, v: gpt.step(p, config, x, k, v),
        ((1, 1, config.width), cache, cache),
    )


def _unet(size: int, config: unet.Config = unet.Config()) -> Entry:  # noqa: B008
    return Entry(
        unet,
        partial(unet.random_parameters, config),
        lambda p, x: unet.forward(p, config, x),
        ((1, config.inputs, size, size),),
    )


def _images(module: Any, parameters: Any, function: Any, batch: int, size: int) -> Entry:
    return Entry(module, parameters, function, ((batch, 3, size, size),), batch)


_RESNET = (_resnet50, partial(_resnet50.random_parameters, 0), _resnet)
_MOBILE = (mobilenet, mobilenet.random_parameters, mobilenet.forward)
#: What is measured.
ENTRIES = {
    "resnet50-1": _images(*_RESNET, 1, 224),
    "resnet50-16": _images(*_RESNET, 16, 224),
    "bert-128": _bert(128),
    "bert-512": _bert(512),
    "gpt-step": _gpt(256),
    "mobilenetv3-1": _images(*_MOBILE, 1, 224),
    "mobilenetv3-16": _images(*_MOBILE, 16, 224),
    "unet-256": _unet(256),
}
#: The same in small sizes, at which times mean nothing.
TINY = {
    "resnet50-1": _images(*_RESNET, 1, 64),
    "bert-128": _bert(16, bert.Config(layers=1, width=64, heads=4, inner=128)),
    "gpt-step": _gpt(8, gpt.Config(layers=1, width=64, heads=4, vocabulary=100)),
    "mobilenetv3-1": _images(*_MOBILE, 1, 64),
    "unet-256": _unet(32, unet.Config(widths=(16, 32))),
}
