# SPDX-License-Identifier: Apache-2.0
"""Some tests of graphs and compiled functions, run as on CPUs with fewer instructions."""

import re
from pathlib import Path

import pytest
from descriptors import require_isa
from fresh_process import run

TESTS = Path(__file__).parents[1]
#: Files, and which of their tests to run.
CHOSEN = {
    "compiler/int8/test_int8_quantization.py": "rounded_operands or mixed or concatenations",
    "compiler/passes/test_fusing.py": "conv-norm or linear-gelu or layer-norm or attention",
    "compiler/test_compile_models.py": "bert or mobilenet",
    "graph/test_graph_integers.py": "",
    "graph/test_graph_fusion.py": "sdpa or int8 or gated or matmul_bias",
    "trace/test_capabilities.py": "",
}


@pytest.mark.slow
@pytest.mark.parametrize(("isa", "count"), [("avx2", 80), ("avx512_core", 30)])
def test_values_are_correct(isa, count):
    require_isa(isa)
    # AVX-512 without VNNI differs only for integers.
    of = [n for n in CHOSEN if isa == "avx2" or "int" in n or "capabilities" in n]
    files = [str(TESTS / name) for name in of]
    chosen = " or ".join(f"({CHOSEN[n]})" for n in of if CHOSEN[n])
    names = " or ".join(Path(n).stem for n in of if not CHOSEN[n])
    done = run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", f"{chosen} or {names}",
        cwd=TESTS.parent, ONEDNN_MAX_CPU_ISA=isa.upper(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) >= count, done.stdout[-500:]
