# SPDX-License-Identifier: Apache-2.0
"""Limits and results of cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sycl_dnn.tools.cases.driver import Refusal


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
