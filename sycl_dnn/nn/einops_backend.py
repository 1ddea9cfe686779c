# SPDX-License-Identifier: Apache-2.0
"""einops backend for arrays and traced values, registered if einops is installed."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import dpnp

from sycl_dnn import functional as F
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.values import Tensor

_KINDS = (Tensor, Array, dpnp.ndarray)
_REDUCTIONS: dict[str, Any] = {
    "all": F.all, "any": F.any, "max": F.amax, "mean": F.mean, "min": F.amin, "prod": F.prod,
    "sum": F.sum,
}  # fmt: skip


class _Methods:
    """The array operations that einops requires."""

    framework_name = "sycl_dnn"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, _KINDS)

    def from_numpy(self, x: Any) -> Any:
        return F.asarray(x)

    def to_numpy(self, x: Any) -> Any:
        return dpnp.asnumpy(x)

    def arange(self, start: int, stop: int) -> Any:
        return F.arange(start, stop)

    def reshape(self, x: Any, shape: Any) -> Any:
        return F.reshape(x, tuple(shape))

    def transpose(self, x: Any, axes: Any) -> Any:
        return F.permute(x, tuple(axes))

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        if operation not in _REDUCTIONS:
            raise NotImplementedError(f"Unknown reduction {operation}")
        for axis in sorted(axes, reverse=True):
            x = _REDUCTIONS[operation](x, axis)
        return x

    def stack_on_zeroth_dimension(self, tensors: Any) -> Any:
        return F.stack(list(tensors))

    def add_axis(self, x: Any, new_position: int) -> Any:
        return F.unsqueeze(x, new_position)

    def add_axes(self, x: Any, n_axes: int, pos2len: dict[int, int]) -> Any:
        for position in sorted(pos2len):
            x = F.unsqueeze(x, position)
        shape = tuple(pos2len.get(axis, n) for axis, n in enumerate(x.shape))
        return F.broadcast_to(x, shape)

    def tile(self, x: Any, repeats: Any) -> Any:
        return F.tile(x, tuple(repeats))

    def concat(self, tensors: Any, axis: int) -> Any:
        return F.cat(list(tensors), axis)

    def is_float_type(self, x: Any) -> bool:
        return dtypes.is_float(str(x.dtype))

    def layers(self) -> Any:
        return importlib.import_module("sycl_dnn.nn.einops_layers")

    def einsum(self, pattern: str, *x: Any) -> Any:
        return F.einsum(pattern, *x)


#: einops discovers backends among the live subclasses of its base class.
_registered: list[type] = []


def register() -> None:
    """Register the backend; do nothing if einops is not installed."""
    with contextlib.suppress(ImportError):
        base = importlib.import_module("einops._backends").AbstractBackend
        _registered.append(type("SyclDnnBackend", (_Methods, base), {}))
