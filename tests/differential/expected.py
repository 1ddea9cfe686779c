# SPDX-License-Identifier: Apache-2.0
"""Expected results of a program, and the loss whose gradients are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from differential.program import Program


@dataclass
class Expected:
    """Values with the tolerance of each; integers and booleans have None."""

    values: Any
    tolerance: Any = None


@dataclass
class Reference:
    outputs: list[Expected]
    gradients: dict[str, Expected] | None = None
    seconds: dict[str, Expected] | None = None


def weights_of(program: Program, outputs: Sequence[Any]) -> list[Any]:
    """Return the fixed weights of each float output in the loss."""
    rng = np.random.default_rng([program.seed, 17])
    return [rng.standard_normal(np.shape(o)).astype(np.float32) for o in outputs]


def directions_of(program: Program) -> dict[str, Any]:
    rng = np.random.default_rng([program.seed, 23])
    return {
        i.name: rng.standard_normal(i.shape).astype(np.float32)
        for i in program.inputs
        if i.is_float
    }
