# SPDX-License-Identifier: Apache-2.0
"""Group norms written as instance norms of groups between two reshapes, as PyTorch exports them.

As one function they keep the layout of convolutions around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.onednn import dtypes
from sycl_dnn.onnx.delayed_values import Delayed, as_written
from sycl_dnn.onnx.operator_registry import Call, F, delayed_form


class Groups(Delayed):
    """``x`` (N, C, *S) as (N, groups, the rest)."""

    def __init__(self, make: Callable[[], Any], x: Any, groups: int) -> None:
        super().__init__(make)
        self.x, self.groups = x, groups


class Normalized(Delayed):
    """A group norm of ``x``: ``weight`` and ``bias`` are (C,).

    ``shape`` is that of the value: of ``x``, or of its groups.
    """

    def __init__(
        self, make: Callable[[], Any] | None, x: Any, groups: int, weight: Any, bias: Any,
        eps: float, shape: Sequence[int],
    ) -> None:  # fmt: skip
        super().__init__(make or (lambda: F.group_norm(x, groups, weight, bias, eps)))
        self.x, self.groups, self.weight, self.bias, self.eps = x, groups, weight, bias, eps
        self.shape = tuple(shape)

    def scaled(self, factor: Any = None, summand: Any = None) -> Normalized:
        """Return the value times a factor (C,), plus a summand (C,)."""
        weight, bias = self.weight, self.bias
        if factor is not None:
            weight, bias = weight * factor, bias * factor
        bias = bias if summand is None else bias + summand
        return Normalized(None, self.x, self.groups, weight, bias, self.eps, self.shape)


def sizes_of(call: Call, old: Sequence[int], shape: Any) -> list[int]:
    """Return the new shape that a Reshape describes."""
    sizes = call.ints(call.get("shape", shape))
    if not call.get("allowzero", 0):
        if any(n == 0 and i >= len(old) for i, n in enumerate(sizes)):
            raise ValueError(f"shape must not copy an axis that {tuple(old)} lacks")
        sizes = [old[i] if n == 0 else n for i, n in enumerate(sizes)]
    if sizes.count(-1) == 1:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = math.prod(old) // rest if rest else 0
    return sizes


def grouped(x: Any, shape: Sequence[int], make: Callable[[], Any]) -> Any:
    """Return ``make()``, a value in another shape; delayed if it may be groups of channels."""
    old, new = tuple(x.shape), tuple(shape)
    if len(new) != 3 or len(old) < 3 or 0 in old or old[0] != new[0] or old[1] % max(new[1], 1):
        return make()
    is_float = dtypes.name_of(x.dtype) in ("float32", "float64", "float16", "bfloat16")
    return Groups(make, x, new[1]) if is_float and old != new else make()


@delayed_form("InstanceNormalization")
def _instance_norm(call: Call, x: Any, scale: Any, bias: Any) -> Any:
    if not isinstance(x, Groups) or isinstance(scale, Delayed) or isinstance(bias, Delayed):
        return None
    n, channels, *lengths = x.x.shape
    per_group = channels // x.groups
    shape = n, x.groups, per_group * math.prod(lengths)
    if shape[-1] == 1:
        return None
    make, eps = as_written(call, x, *map(call.device, (scale, bias))), call.get("epsilon", 1e-5)
    weight, shift = (F.repeat_interleave(call.device(v), per_group) for v in (scale, bias))
    return Normalized(make, x.x, x.groups, weight, shift, eps, shape)


@delayed_form("Reshape")
def _reshape(call: Call, x: Any, shape: Any = None) -> Any:
    if not isinstance(x, Normalized):
        return None
    given = shape if shape is None else call.host(shape)
    sizes = tuple(sizes_of(call, x.shape, given))
    if sizes != tuple(x.x.shape):
        return None
    return Normalized(None, x.x, x.groups, x.weight, x.bias, x.eps, sizes)


def _by_channel(call: Call, a: Any, b: Any) -> tuple[Normalized, Any] | None:
    """Return the group norm among two operands and a vector (C,); None for other operands."""
    for norm, other in ((a, b), (b, a)):
        if not isinstance(norm, Normalized) or isinstance(other, Delayed):
            continue
        rank, channels = len(norm.x.shape), norm.x.shape[1]
        shape = (1,) * (rank - len(other.shape)) + tuple(other.shape)
        is_whole = norm.shape == tuple(norm.x.shape)
        if is_whole and shape == (1, channels, *(1,) * (rank - 2)):
            return norm, F.reshape(call.device(other), (channels,))
    return None


@delayed_form("Mul")
def _mul(call: Call, a: Any, b: Any) -> Any:
    found = _by_channel(call, a, b)
    return found and found[0].scaled(found[1])


@delayed_form("Add")
def _add(call: Call, a: Any, b: Any) -> Any:
    found = _by_channel(call, a, b)
    return found and found[0].scaled(summand=found[1])
