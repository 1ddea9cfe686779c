# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding of queries and keys, one kernel each."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.ir.node import Node, number
from sycl_dnn.llm.rotary_frequencies import Rotation
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.ops.arithmetic import COS, LT, SIN, cast, where
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.selection import roll


class Turn(NamedTuple):
    """Rotary embedding of positions: ``x * cos + swapped(x) * sin``."""

    cos: Any
    #: Negative for the first feature of a pair.
    sin: Any
    #: Number of rotated pairs, which is also the distance between the features of a pair.
    n_pairs: int

    def __call__(self, x: Any) -> Any:
        """Rotate (N, H, T, D)."""
        return turned(x, self.cos, self.sin, self.n_pairs)


@operation
def turned(x: Any, cos: Any, sin: Any, n: int) -> Any:
    """Return ``x * cos + swapped(x) * sin``, by one kernel."""

    def body(x: Node, cos: Node, sin: Node) -> Node:
        wide = cast(x, cos.dtype)
        swapped = roll(wide, n, 3)
        if 2 * n < x.shape[3]:
            swapped = where(
                LT(iota(x.shape[3], 3, 4), number(n, "int32")), roll(wide, -n, 3), swapped
            )
        return cast(wide * cos + swapped * sin, x.dtype)

    return computed(body, x, cos, sin)


def turn_of(rotation: Rotation, positions: Any) -> Turn:
    """Return the rotary embedding of positions (N, T), in float32."""
    n = len(rotation.frequencies)
    # Features that are not rotated have the angle 0.
    still = [0.0] * (rotation.head_dim - 2 * n)
    frequencies = F.tensor([*rotation.frequencies * 2, *still])
    if rotation.threshold is not None:
        count = F.add(F.amax(positions), 1.0)
        is_long = F.gt(count, float(rotation.threshold))
        beyond = _beyond(rotation, count)
        beyond = F.cat([beyond, beyond, *([F.tensor(still)] if still else [])], 0)
        frequencies = F.where(is_long, beyond, frequencies)
    factors = [rotation.factor] * n
    of_cos = F.tensor([*factors, *factors, *(1.0 for _ in still)])
    of_sin = F.tensor([*(-f for f in factors), *factors, *still])
    cos, sin = _cos_and_sin(positions, frequencies, of_cos, of_sin)
    return Turn(cos, sin, n)


@operation
def _cos_and_sin(positions: Any, frequencies: Any, of_cos: Any, of_sin: Any) -> Any:
    """Return factors times cosines and sines (N, 1, T, D), by one kernel."""
    n, length = positions.shape
    positions = F.reshape(positions, (n, 1, length, 1))
    vectors = [F.reshape(v, (1, 1, 1, -1)) for v in (frequencies, of_cos, of_sin)]

    def body(position: Node, frequency: Node, of_cos: Node, of_sin: Node) -> tuple[Node, Node]:
        return COS(position * frequency) * of_cos, SIN(position * frequency) * of_sin

    return all_computed(body, positions, *vectors)


def _beyond(rotation: Rotation, count: Any) -> Any:
    """Return the frequencies beyond the threshold of positions."""
    if rotation.long_frequencies is not None:
        return F.tensor(rotation.long_frequencies)
    assert rotation.dynamic is not None
    assert rotation.threshold is not None
    n = len(rotation.frequencies)
    ratio = F.mul(count, rotation.dynamic / rotation.threshold)
    grown = F.log(F.clamp(F.sub(ratio, rotation.dynamic - 1.0), min=1.0))
    # base' = base * growth ** (dim / (dim - 2)); frequencies are base ** (-2 i / dim).
    exponents = F.tensor([-2.0 * i / (2 * n - 2) for i in range(n)])
    return F.mul(F.tensor(rotation.frequencies), F.exp(F.mul(exponents, grown)))
