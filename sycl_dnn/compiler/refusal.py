# SPDX-License-Identifier: Apache-2.0
"""Why a rewrite was not made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """What a rewrite returns in place of a node, a descriptor or operations."""

    #: In words, for the report.
    reason: str

    def __str__(self) -> str:
        return self.reason
