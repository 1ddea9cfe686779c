# SPDX-License-Identifier: Apache-2.0
"""``explain`` and ``bench`` on the GPU, and what cannot be done on a simulated one."""

import sys
import warnings
from pathlib import Path

import pytest

from sycl_dnn.device import is_simulated
from sycl_dnn.tools.bench import command as bench
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.explain.judge import explain
from sycl_dnn.tools.explain.probe import Prober

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import gpu_dispatch  # noqa: E402


@pytest.fixture(scope="module")
def gpu_prober():
    with Prober("gpu") as found:
        yield found


def test_facts_say_whether_it_is_simulated(gpu_prober):
    facts = gpu_prober.facts
    assert (facts["kind"], facts["isa"], facts["threads"]) == ("gpu", "", 0)
    assert facts["simulated"] is is_simulated("gpu")
    assert not is_simulated("cpu")


def test_a_refusal_is_explained(gpu_prober):
    found = explain(case_of("--pool --dir=BWD_D --dt=s8 mb2ic64ih14kh3sh2ph1"), gpu_prober)
    assert found.answer.state == "refused"
    assert found.answer.reason in found.notes[0]
    assert found.better


def test_refusals_use_the_text_of_the_register(gpu_prober):
    found = gpu_prober.ask(case_of("--rnn --cfg=u8u8u8u8 --alg=VANILLA_LSTM l1t4mb16sic64"))
    assert found.state == "refused"
    assert found.reason.startswith("GPUs read 8-bit weights as unsigned")


def test_bench_measures_only_executed_work(capsys):
    status = bench.main(["--device=gpu", "--fix-times-per-prb=1", "--matmul", "16x16:16x16"])
    assert status == (2 if is_simulated("gpu") else 0)
    assert ("simulated" in capsys.readouterr().err) is is_simulated("gpu")


#: oneDNN's optimized pools with a workspace do not support float16.
FASTER_IN_FLOAT32 = {
    (f"max_pool{n}", "float16", "pooling_forward ocl:ref:any", "f32, channels last: `ocl:xe`")
    for n in ("2d(3, 2, 1)", "3d(2)")
}


@pytest.mark.skipif(not is_simulated("gpu"), reason="says what real GPUs have")
def test_no_function_uses_an_avoidable_reference(gpu):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = set(gpu_dispatch.references_of(gpu))
    assert {row for row in found if row[3] != "none"} == FASTER_IN_FLOAT32
    # What has no other way is what the page says.
    page = (gpu_dispatch.ROOT / "docs" / "gpu_dispatch.md").read_text()
    assert all(f"| {name} | `{step}` | {way} |" in page for name, _, step, way in found)
