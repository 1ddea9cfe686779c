# SPDX-License-Identifier: Apache-2.0
"""Run one program: reference, all ways to call it, and the differences that persist."""

from __future__ import annotations

from typing import Any

import torch

from differential.drawing import draw, draw_large
from differential.program import Program
from differential.reference import refer
from differential.ways import Caller, Finding, call_all, suspicious

torch.set_num_threads(1)
#: Seeds that end with it draw large arrays, so that schedules beyond caches are tested.
LARGE = 9


def play(
    program: Program, queue: Any, extra: bool, only: str | None = None, order: int = 2
) -> tuple[Caller, list[Finding]]:
    """Return the calls, and the findings that rounding does not explain."""
    values = program.values(0), program.values(1)
    references = [refer(program, v, order) for v in values]
    caller = call_all(program, queue, *references, extra, only)
    if any(f.kind == "wrong" for f in caller.findings):
        # Larger perturbations and more roundings reveal results that depend on the last digits.
        sizes = (1e-7, 1e-6, 3e-6, 1e-5, 3e-5)
        references = [refer(program, v, order, sizes, roundings=6) for v in values]
        caller = call_all(program, queue, *references, extra, only)
    return caller, caller.findings


def program_of(seed: int) -> tuple[Program, bool, int]:
    """Return a program, whether it is called in extra ways, and the order of its derivatives.

    Every tenth is one of large arrays.
    """
    if seed % 10 == LARGE:
        return draw_large(seed), seed // 10 % 8 == 0, 1
    # Second derivatives cost as much as all else; every third program is enough.
    return draw(seed), seed % 8 == 0, 2 if seed % 3 == 0 else 1


def play_seed(seed: int, queue: Any) -> tuple[Program, Caller, list[Finding]]:
    program, extra, order = program_of(seed)
    caller, _ = play(program, queue, extra=extra, order=order)
    return program, caller, suspicious(caller)
