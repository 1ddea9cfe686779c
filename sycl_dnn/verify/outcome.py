# SPDX-License-Identifier: Apache-2.0
"""What a case may need, and what it comes to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

#: What a case can come to; the last ones make the exit status 1.
STATUSES = ("PASSED", "SUBMITTED", "REFUSED", "INVALID", "KNOWN", "MISTRUSTED", "FAILED")
FAILURES = ("MISTRUSTED", "FAILED")


@dataclass(frozen=True)
class Limits:
    """What a case may need, and whether its results are looked at.

    memory : bytes, on device and host together
    operations : multiplications of the reference
    check : compare; without it cases are only submitted, as for a device that computes nothing
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
    """What became of a case.

    status : one of `STATUSES`
    reason : why it was refused, which fault is known, what is wrong
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
