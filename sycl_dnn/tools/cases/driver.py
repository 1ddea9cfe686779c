# SPDX-License-Identifier: Apache-2.0
"""``Driver``: options, problem parser, calls and data of one kind of case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sycl_dnn.tools.cases.call import Attributes, Call, Tensor
from sycl_dnn.tools.cases.data import Fill
from sycl_dnn.tools.cases.options import ATTRIBUTES, Option, integers


class CaseError(ValueError):
    """A line that cannot be parsed; the message is ``file:line: message``."""


class Skip(Exception):
    """An invalid combination of options, which is skipped and counted."""


class Refusal(Exception):
    """A case that is not run, with the rule that excludes it."""


#: Returns values, how to draw them, or None for the default.
Filler = Callable[[Call, str, Tensor, Any], "np.ndarray | Fill | None"]


@dataclass(frozen=True)
class Driver:
    """One driver of benchdnn.

    name : as in ``--name``
    options : in addition to the attributes
    read : parses a problem into a namespace with a ``name``
    call : (problem, option values) -> Call; raises Skip if they are not a case
    fill : (call, argument, tensor, rng) -> values of an input
    operations : call -> multiplications of the reference, to refuse cases that take hours
    """

    name: str
    options: tuple[Option, ...]
    read: Callable[[str], Any]
    call: Callable[[Any, dict[str, Any]], Any]
    fill: Filler
    operations: Callable[[Call], int] = lambda call: 0


def attributes_of(o: dict[str, Any]) -> Attributes:
    """Return the attributes of a case from its option values."""
    return _attributes(o, [option.name for option in ATTRIBUTES])


def forward_attributes(o: dict[str, Any]) -> Attributes:
    """Return the attributes that a forward hint shares with its backward call."""
    return _attributes(o, ["attr-fpmath", "attr-acc-mode", "attr-deterministic"])


def _attributes(o: dict[str, Any], names: list[str]) -> Attributes:
    return Attributes(**{n.removeprefix("attr-").replace("-", "_"): o[n] for n in names})


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


def in_direction(
    driver: str, row: str, o: dict[str, Any], params: dict[str, Any], tensors: dict[str, Tensor],
    gradients: dict[str, Tensor], directions: tuple[str, ...] = ("FWD_D", "FWD_I", "BWD_D"),
) -> Call:  # fmt: skip
    """Return the forward call of a case, or the backward one with its hint.

    ``directions``: values that ``--dir`` may have.
    """
    require(o["dir"] in directions, "no such direction")
    attr, inplace = attributes_of(o), o.get("inplace", False)
    if o["dir"].startswith("FWD"):
        full = {"prop_kind": prop_kind(o["dir"])} | params
        return Call(driver, f"{row}_forward", full, tensors, attr, None, inplace)
    full = {"prop_kind": "forward_training"} | params
    hint = Call(driver, f"{row}_forward", full, tensors, forward_attributes(o))
    return Call(driver, f"{row}_backward", params, gradients, attr, hint, inplace)


def images(p: Any, o: dict[str, Any], sizes: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return the shape of a problem's images, by default of its source."""
    mb = p.mb if o["mb"] is None else o["mb"]
    return (mb, p.ic, *(p.i if sizes is None else sizes))


def with_mb(dims: tuple[int, ...], mb: int | None) -> tuple[int, ...]:
    """Return dims with the minibatch replaced."""
    return dims if mb is None else (mb, *dims[1:])


def strides_of(text: str) -> tuple[int, ...]:
    """Parse ``8x1``, or nothing."""
    return integers(text, "strides") if text else ()


def require(condition: Any, why: str) -> None:
    """Skip an invalid combination of options."""
    if not condition:
        raise Skip(why)
