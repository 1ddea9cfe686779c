# SPDX-License-Identifier: Apache-2.0
"""Run one program: reference, all ways to call it, and the differences that persist."""

from __future__ import annotations

from typing import Any

import torch

from differential.drawing import draw
from differential.program import Program
from differential.reference import refer
from differential.ways import Caller, Finding, call_all, suspicious

torch.set_num_threads(1)


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


def play_seed(seed: int, queue: Any) -> tuple[Program, Caller, list[Finding]]:
    program = draw(seed)
    # Second derivatives cost as much as all else; every third program is enough.
    caller, _ = play(program, queue, extra=seed % 8 == 0, order=2 if seed % 3 == 0 else 1)
    return program, caller, suspicious(caller)
