# SPDX-License-Identifier: Apache-2.0
"""Some tests run as on CPUs with fewer instructions than this one; most laptops have AVX2."""

import re
from pathlib import Path

import pytest
from descriptors import require_isa
from fresh_process import run

TESTS = Path(__file__).parents[1]
ALL, AVX2, INTEGERS = ("sse41", "avx2", "avx512_core"), ("avx2",), ("avx2", "avx512_core")
#: Files, which of their tests run, and with which instructions: AVX-512 without VNNI differs only
#: for integers. `.ci/run` has shares of whole folders.
CHOSEN = {
    "functional/activation/test_softmax.py": ("test_case", ALL),
    "functional/conv/test_conv.py": ("test_case and conv2d and float32", ALL),
    "functional/normalization/test_layer_norm.py": ("test_case", ALL),
    "functional/product/test_matmul.py": ("test_case and linear", ALL),
    "functional/quantized/test_quantized.py": ("exact", ALL),
    "functional/quantized/test_weight_only.py": ("linear", ALL),
    "functional/recurrent/test_recurrent.py": ("test_case and lstm and float32", ALL),
    "functional/test_attention.py": ("test_case", ALL),
    "compiler/int8/test_int8_quantization.py": (
        "rounded_operands or mixed or concatenations",
        INTEGERS,
    ),
    "compiler/passes/test_fusing.py": (
        "conv-norm or linear-gelu or layer-norm or attention",
        AVX2,
    ),
    "compiler/test_compile_models.py": ("bert or mobilenet", AVX2),
    "graph/test_graph_integers.py": ("test", INTEGERS),
    "graph/test_graph_fusion.py": ("sdpa or int8 or gated or matmul_bias", AVX2),
    "trace/test_capabilities.py": ("test", INTEGERS),
}


@pytest.mark.slow
@pytest.mark.parametrize(("isa", "count"), [("sse41", 60), ("avx2", 140), ("avx512_core", 90)])
def test_values_are_correct(isa, count):
    require_isa(isa)
    rows = {name: words for name, (words, isas) in CHOSEN.items() if isa in isas}
    names = " or ".join(f"({Path(n).name} and ({words}))" for n, words in rows.items())
    done = run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *(TESTS / name for name in rows),
        "-k", names, cwd=TESTS.parent, ONEDNN_MAX_CPU_ISA=isa.upper(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) >= count, done.stdout[-500:]
