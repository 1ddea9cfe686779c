# SPDX-License-Identifier: Apache-2.0
"""Packages of ``torch.nn`` that model code takes names from: ``modules``, ``attention``."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from sycl_dnn.nn import convolution_layers, normalization_layers

#: Files of ``torch.nn.modules``, which all have the names of ``nn`` here.
_FILES = frozenset((
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance",
    "dropout", "flatten", "fold", "instancenorm", "linear", "loss", "module", "normalization",
    "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling", "utils",
))  # fmt: skip


def _repeated(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that repeats a number ``n`` times and returns a tuple for a sequence."""
    return lambda value: tuple(value) if hasattr(value, "__iter__") else (value,) * n


#: Private names of torch's that other code imports: base classes, and functions of ``utils``.
_PRIVATE = {
    "_BatchNorm": normalization_layers._BatchNorm,
    "_ConvNd": convolution_layers._Convolution,
    "_ConvTransposeNd": convolution_layers._Transposed,
    "_InstanceNorm": normalization_layers._InstanceNorm,
    "_NormBase": normalization_layers._Running,
    "_ntuple": _repeated, "_single": _repeated(1), "_pair": _repeated(2), "_triple": _repeated(3),
    "_quadruple": _repeated(4),
}  # fmt: skip


class Modules:
    """``torch.nn.modules``, and each of its files.

    Parameters
    ----------
    namespace : dict
        Of ``sycl_dnn.nn``.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name in _FILES:
            return self
        if name in _PRIVATE:
            return _PRIVATE[name]
        if name in self._namespace["__all__"]:
            return self._namespace[name]
        raise AttributeError(f"nn.modules has no {name!r}")


class SDPBackend(enum.IntEnum):
    """Ways to compute attention; oneDNN and the kernels here choose one themselves."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any = None, set_priority: bool = False) -> Iterator[None]:
    """Change nothing: a block, or a decorator."""
    yield


attention = SimpleNamespace(SDPBackend=SDPBackend, sdpa_kernel=sdpa_kernel)
