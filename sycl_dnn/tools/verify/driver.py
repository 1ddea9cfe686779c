# SPDX-License-Identifier: Apache-2.0
"""Limits and results of cases, and drivers: options, problems, calls, data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.tools.verify.call import Attributes, Call, Tensor
from sycl_dnn.tools.verify.options import ATTRIBUTES, Option
from sycl_dnn.tools.verify.tolerance import Rule


class CaseError(ValueError):
    """A line that cannot be read; the message is ``file:line: message``."""


class Skip(Exception):
    """A combination of options that is not a case; it is left out and counted."""


class Refusal(Exception):
    """A case that is not run, with the rule that excludes it."""


class Beyond(Refusal):
    """A case that exceeds the limits of this tool or the memory of the machine."""


class Failure(Exception):
    """oneDNN created a primitive and then refused to execute it.

    impl : name of the implementation
    """

    def __init__(self, text: str, impl: str) -> None:
        super().__init__(text)
        self.impl = impl


# --- Limits of a case, and its result

#: Cases that did not run: oneDNN has no implementation, a rule of the case or of this tool
#: excludes them, or they exceed a limit of this tool.
REFUSALS = ("UNIMPLEMENTED", "SKIPPED", "LIMITS")
#: Results of a case; the last ones make the exit status 1, `INVALID` only if it is not expected.
STATUSES = ("PASSED", "SUBMITTED", *REFUSALS, "INVALID", "KNOWN", "MISTRUSTED", "FAILED")
FAILURES = ("MISTRUSTED", "FAILED")


@dataclass(frozen=True)
class Limits:
    """The limits of a case, and whether its results are checked.

    memory : bytes, on device and host together
    operations : multiplications of the reference
    check : compare; otherwise cases are only submitted, as for a device that computes nothing
    """

    memory: int = 2 << 30
    operations: int = 4_000_000_000
    check: bool = True


class Outcome(NamedTuple):
    """Status, reason, largest error and implementation of a case that ran."""

    status: str
    reason: str = ""
    error: float = 0.0
    impl: str = ""


@dataclass
class Result:
    """The result of a case.

    status : one of `STATUSES`
    reason : why it was refused, which known fault it has, or what is wrong
    error : largest error of all outputs, by the measure of the rule
    impl : oneDNN's name of the implementation
    """

    driver: str
    line: str
    place: str
    status: str
    reason: str = ""
    error: float = 0.0
    impl: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


# --- What a driver is: options, a reader of problems, calls, data, tolerance


def _usual_fill(call: Call, name: str, tensor: Tensor, rng: Any) -> np.ndarray | None:
    return None


def _exact(call: Call, name: str) -> Rule:
    return Rule()


@dataclass(frozen=True)
class Driver:
    """One driver of benchdnn.

    name : as in ``--name``
    options : in addition to attributes
    read : problem text -> namespace with a ``name``
    call : (problem, values of the options) -> Call; raises Skip if they are not a case
    attributes : options of attributes
    run : (result of `call`, stream, key of the data, limits) -> Outcome, for drivers that are not
    primitives
    rule : (call, output) -> Rule
    fill : (call, argument, tensor, rng) -> values, None for the default ones
    operations : call -> multiplications of the reference, to refuse what would take hours
    """

    name: str
    options: tuple[Option, ...]
    read: Callable[[str], Any]
    call: Callable[[Any, dict[str, Any]], Any]
    rule: Callable[[Call, str], Rule] = _exact
    fill: Callable[[Call, str, Tensor, Any], np.ndarray | None] = _usual_fill
    operations: Callable[[Call], int] = lambda call: 0
    attributes: tuple[Option, ...] = ATTRIBUTES
    run: Callable[[Any, Any, str, Limits], Outcome] | None = None


def attributes_of(o: dict[str, Any]) -> Attributes:
    """Return the attributes of a case from the values of its options."""
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
    """Return the attributes that a forward hint has in common with its backward call."""
    return Attributes(
        fpmath=o["attr-fpmath"],
        accumulation=o["attr-acc-mode"],
        deterministic=o["attr-deterministic"],
    )


def spread(values: tuple[str, ...], count: int, what: str) -> tuple[str, ...]:
    """Repeat one data type or tag for ``count`` tensors."""
    if len(values) == count:
        return values
    if len(values) == 1:
        return values * count
    raise ValueError(f"--{what} must have 1 or {count} values, got {':'.join(values)}")


def prop_kind(direction: str) -> str:
    """Return the propagation kind of a direction."""
    if direction == "FWD_I":
        return "forward_inference"
    return "forward_training" if direction.startswith("FWD") else "backward"


def with_mb(dims: tuple[int, ...], mb: int | None) -> tuple[int, ...]:
    """Return dims with the minibatch replaced."""
    return dims if mb is None else (mb, *dims[1:])


def strides_of(text: str) -> tuple[int, ...]:
    """Read ``8x1``."""
    if not text:
        return ()
    if not all(part.isdigit() for part in text.split("x")):
        raise ValueError(f"strides must be integers between x, got {text!r}")
    return tuple(map(int, text.split("x")))


def require(condition: Any, why: str) -> None:
    """Skip a combination of options that is not a case."""
    if not condition:
        raise Skip(why)
