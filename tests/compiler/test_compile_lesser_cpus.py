# SPDX-License-Identifier: Apache-2.0
"""Graphs and compiled functions on CPUs with fewer instructions: some tests, run as there."""

import re
from pathlib import Path

import pytest
from fresh_process import run

from sycl_dnn import onednn as dnnl

TESTS = Path(__file__).parents[1]
#: Files, and which of their tests.
CHOSEN = {
    "compiler/int8/test_int8_quantization.py": "rounded_operands or mixed or concatenations",
    "compiler/passes/test_fusing.py": "conv-norm or linear-gelu or layer-norm or attention",
    "compiler/test_compile_models.py": "bert or mobilenet",
    "graph/test_graph_integers.py": "",
    "graph/test_graph_fusion.py": "sdpa or int8 or gated or matmul_bias",
    "trace/test_capabilities.py": "",
}


@pytest.mark.parametrize("isa", ["avx2", "avx512_core"])
def test_values_are_right(isa):
    wanted = dnnl.cpu_isa[isa].value
    if dnnl.get_effective_cpu_isa().value & wanted != wanted:
        pytest.skip("this CPU has less")
    files = [str(TESTS / name) for name in CHOSEN]
    chosen = " or ".join(f"({words})" for words in CHOSEN.values() if words)
    names = " or ".join(Path(n).stem for n, words in CHOSEN.items() if not words)
    done = run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", f"{chosen} or {names}",
        cwd=TESTS.parent, ONEDNN_MAX_CPU_ISA=isa.upper(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) >= 80, done.stdout[-500:]
