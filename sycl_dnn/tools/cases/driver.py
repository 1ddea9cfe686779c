# SPDX-License-Identifier: Apache-2.0
"""``Driver``: options, problem parser, calls and data of one kind of case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sycl_dnn.tools.cases.call import Attributes, Call, Tensor
from sycl_dnn.tools.cases.options import Option


class CaseError(ValueError):
    """A line that cannot be parsed; the message is ``file:line: message``."""


class Skip(Exception):
    """An invalid combination of options, which is skipped and counted."""


class Refusal(Exception):
    """A case that is not run, with the rule that excludes it."""


def _usual_fill(call: Call, name: str, tensor: Tensor, rng: Any) -> np.ndarray | None:
    return None


@dataclass(frozen=True)
class Driver:
    """One driver of benchdnn.

    name : as in ``--name``
    options : in addition to the attributes
    read : parses a problem into a namespace with a ``name``
    call : (problem, option values) -> Call; raises Skip if they are not a case
    fill : (call, argument, tensor, rng) -> values, None for the default
    operations : call -> multiplications of the reference, to refuse cases that take hours
    """

    name: str
    options: tuple[Option, ...]
    read: Callable[[str], Any]
    call: Callable[[Any, dict[str, Any]], Any]
    fill: Callable[[Call, str, Tensor, Any], np.ndarray | None] = _usual_fill
    operations: Callable[[Call], int] = lambda call: 0


def attributes_of(o: dict[str, Any]) -> Attributes:
    """Return the attributes of a case from its option values."""
    return Attributes(
        scales=o["attr-scales"],
        zero_points=o["attr-zero-points"],
        reductions=o["attr-precomputed-reductions"],
        post_ops=o["attr-post-ops"],
        scratchpad=o["attr-scratchpad"],
        fpmath=o["attr-fpmath"],
        accumulation=o["attr-acc-mode"],
        deterministic=o["attr-deterministic"],
        rounding=o["attr-rounding-mode"],
        dropout=o["attr-dropout"],
        impl=o["impl"],
        skip_impl=o["skip-impl"],
    )


def forward_attributes(o: dict[str, Any]) -> Attributes:
    """Return the attributes that a forward hint shares with its backward call."""
    return Attributes(
        fpmath=o["attr-fpmath"],
        accumulation=o["attr-acc-mode"],
        deterministic=o["attr-deterministic"],
    )


def spread(values: tuple[str, ...], count: int, option: str) -> tuple[str, ...]:
    """Expand one data type or tag to ``count`` tensors."""
    if len(values) == count:
        return values
    if len(values) == 1:
        return values * count
    raise ValueError(f"--{option} must have 1 or {count} values, got {':'.join(values)}")


def prop_kind(direction: str) -> str:
    """Return the propagation kind of a direction."""
    if direction == "FWD_I":
        return "forward_inference"
    return "forward_training" if direction.startswith("FWD") else "backward"


def with_mb(dims: tuple[int, ...], mb: int | None) -> tuple[int, ...]:
    """Return dims with the minibatch replaced."""
    return dims if mb is None else (mb, *dims[1:])


def strides_of(text: str) -> tuple[int, ...]:
    """Parse ``8x1``."""
    if not text:
        return ()
    if not all(part.isdigit() for part in text.split("x")):
        raise ValueError(f"strides must be integers between x, got {text!r}")
    return tuple(map(int, text.split("x")))


def require(condition: Any, why: str) -> None:
    """Skip an invalid combination of options."""
    if not condition:
        raise Skip(why)
