# SPDX-License-Identifier: Apache-2.0
"""``explain`` and ``bench`` on the GPU, and what cannot be done on a simulated one."""

import sys
import warnings
from pathlib import Path

import dpctl
import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.device import is_simulated, usable_devices
from sycl_dnn.tools.bench import command as bench
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.check_gpu import device_checks, function_sample
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


def test_device_is_reported_by_its_kind(gpu):
    nature = device_checks.nature(gpu.sycl_device)
    assert (nature == "simulated gpu") == is_simulated("gpu")
    if nature != "gpu":
        assert device_checks.speed(gpu, 1.0)["status"] == "not run"


def test_a_function_is_compared_where_something_ran(gpu):
    simulated = is_simulated("gpu")
    reference = None if simulated else sycl_dnn.default_queue("cpu")
    row = function_sample.one("relu", "float32", gpu, reference)
    assert row["status"] == ("submitted" if simulated else "passed"), row


@pytest.mark.parametrize("with_times", [True, False])
def test_event_times_are_recorded(with_times):
    provided = {"property": "enable_profiling"} if with_times else {}
    queue = dpctl.SyclQueue(usable_devices("gpu")[0], **provided)
    x = dpnp.ones((2, 8, 8, 8), dtype="f4", sycl_queue=queue)
    w = dpnp.ones((8, 8, 3, 3), dtype="f4", sycl_queue=queue)
    with sycl_dnn.profile() as p:
        F.tanh(F.conv2d(x, w))
    queue.wait()
    runs = [r for r in p.records if r.kind == "primitive" and not r.inserted]
    assert [r.name for r in runs] == ["convolution_forward", "eltwise_forward"]
    assert {r.clock for r in runs} == {"device" if with_times else ""}
    assert all((r.time is not None) == with_times for r in runs)
    assert all(r.implementation and r.host > 0 for r in runs)
    assert ("without a time" in p.table()) == (not with_times)
    assert ("the GPU is simulated" in p.table()) == (with_times and is_simulated("gpu"))
