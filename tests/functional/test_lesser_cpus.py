# SPDX-License-Identifier: Apache-2.0
"""Computations of CPUs with fewer instructions than this one; most laptops have AVX2."""

from pathlib import Path

import pytest
from descriptors import require_isa
from fresh_process import run

PROGRAM = Path(__file__).parents[1] / "helpers" / "lesser_cpu.py"


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["sse41", "avx2", "avx512_core"])
def test_values_and_gradients(isa):
    require_isa(isa)
    done = run(PROGRAM, ONEDNN_MAX_CPU_ISA=isa.upper())
    assert done.returncode == 0, done.stderr[-2000:]
    in_force, checked = done.stdout.splitlines()
    assert in_force == isa
    assert "quantized_linear" in checked
