# SPDX-License-Identifier: Apache-2.0
"""Weights of products with one or two rows have the layout that is read fastest."""

import pytest
from comparing import compiled_as_eager

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented

ISA = _core.get_effective_cpu_isa().name
IS_MEASURED = ISA.startswith("avx512") and "amx" not in ISA
TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}


def _takes_blocks(queue, dtype):
    """Whether oneDNN has a fast kernel for such weights; bfloat16 needs its instructions."""
    if dtype is None:
        return True
    src, weights, dst = (
        dnnl.MemoryDesc(shape, dnnl.data_type.bf16, tag)
        for shape, tag in (((1, 48), "ab"), ((48, 70), "BA16a16b2a"), ((1, 70), "ab"))
    )
    try:
        pd = dnnl.matmul(dnnl.Engine(queue), src=src, weights=weights, dst=dst)
    except Unimplemented:
        return False
    return "ref" not in pd.impl_info


def _packed(report):
    return [p for p in report.parts if any("few rows" in t for t in p.fused)]


@pytest.mark.skipif(not IS_MEASURED, reason="the layouts are for AVX-512 without AMX")
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.parametrize(("rows", "expected"), [(1, 2), (2, 2), (3, 0)])
def test_few_rows_use_blocked_weights(rows, expected, dtype, make, queue):
    # Small float32 weights are read as fast in their own layout.
    n = 70 if dtype else 64_000
    w, b, v, x = make(n, 48) / 7, make(n), make(70, n) / n**0.5, make(rows, 48)
    function = lambda a: F.linear(F.gelu(F.linear(a, w, b)), v)  # noqa: E731
    options = {"dtype": dtype, "tolerance": TOLERANCE[dtype]}
    report = compiled_as_eager(function, x, **options)
    assert len(_packed(report)) == (expected if _takes_blocks(queue, dtype) else 0)
    apart = compiled_as_eager(function, x, **options, passes={"pack_for_few_rows": False})
    assert not _packed(apart)
    assert report.n_steps == apart.n_steps


def test_weights_that_are_arguments_are_not_repacked(make):
    report = compiled_as_eager(F.linear, make(1, 48), make(70, 48))
    assert not _packed(report)


def test_residuals_and_integers_stay_correct(make):
    w, v, x, z = make(64, 48), make(48, 64), make(1, 48), make(1, 48)
    function = lambda a, c: F.linear(F.relu(F.linear(a, w)), v) + c  # noqa: E731
    compiled_as_eager(function, x, z)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(function), [(x, z)])
    assert accuracy[0].relative < 0.05, str(accuracy[0])
    assert result(x, z).shape == (1, 48)


def _heads(x, n):
    return F.permute(F.reshape(x, (2, x.shape[1], n, x.shape[2] // n)), (0, 2, 1, 3))


def test_factors_of_operands_are_those_of_the_product(make):
    w, x, mask = make(96, 32) / 6, make(2, 20, 32), make(20, 20)

    def attention(x):
        q, k, v = (_heads(t, 4) for t in F.chunk(F.linear(x, w), 3, -1))
        scores = F.matmul(q * 0.6, F.transpose(k * 0.6, -2, -1)) + mask
        return F.matmul(F.softmax(scores, -1), v)

    report = compiled_as_eager(attention, x, passes={"run_on_host": False})
    rows = [p.row for p in report.parts]
    assert sum("factors of operands" in p.fused for p in report.parts) == 1
    assert "eltwise_forward" not in rows
    assert rows.count("reorder") <= 1
    # The factor comes before the sum; what is read elsewhere, or a result, is still computed.
    compiled_as_eager(lambda a, b: (F.matmul(a * 3.0, b) + b, a * 3.0), *(make(9, 9),) * 2)
    compiled_as_eager(lambda a, b: F.relu(F.matmul(a * 3.0, b * -2.0)), *(make(9, 9),) * 2)
    compiled_as_eager(lambda a, b: F.matmul((a * 3.0)[:, 1:5], b[1:5]), *(make(9, 9),) * 2)
    compiled_as_eager(lambda a, b: F.linear(a * 3.0, b, b[0]), *(make(9, 9),) * 2)
