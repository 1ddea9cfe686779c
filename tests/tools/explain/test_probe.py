# SPDX-License-Identifier: Apache-2.0
"""oneDNN's answers from a separate process: implementations, reasons, CPU levels."""

import pytest

from sycl_dnn import DnnlError
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import call as attributes
from sycl_dnn.tools.cases.call import describe
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.explain import probe
from sycl_dnn.tools.explain.probe import ProbeError, Prober

REFUSED = "--pool --dt=f64 mb2ic64ih14kh3sh2ph1"
CONV = "--conv --dir=FWD_I mb2ic64ih14oc64kh3ph1"


@pytest.mark.slow
def test_reasons_are_those_of_the_low_level(prober):
    case = case_of(REFUSED)
    engine, call = dnnl.Engine("cpu"), case.call()
    with pytest.raises(DnnlError) as refusal:
        describe(call, engine, None, attributes.build(call))
    answer = prober.ask(case)
    assert answer.state == "refused"
    assert answer.attempts
    text = str(refusal.value)
    for attempt in answer.attempts:
        assert attempt.reason in text
        assert attempt.impl in text


def test_types_without_any_implementation_say_so(prober):
    answer = prober.ask(case_of("--conv --dt=f64 mb2ic64ih14oc64kh3ph1"))
    assert (answer.state, answer.attempts) == ("refused", ())
    assert answer.reason == "oneDNN has no list of such types"


def test_all_implementations_in_the_order_of_next_impl(prober):
    engine, call = dnnl.Engine("cpu"), case_of(CONV).call()
    pd = describe(call, engine, None, attributes.build(call))
    expected = [pd.impl_info]
    while pd.next_impl():
        expected.append(pd.impl_info)
    answer = prober.ask(case_of(CONV), every=True)
    taken = [a for a in answer.attempts if not a.reason]
    assert [a.impl for a in taken] == expected
    assert answer.impl == expected[0] == answer.first.impl
    assert taken[-1].layouts.keys() == {"src", "weights", "dst"}
    assert any(a.reason for a in answer.attempts)


def test_a_backward_case_has_the_reasons_of_its_forward_one(prober):
    answer = prober.ask(case_of("--pool --dir=BWD_D --dt=f64 mb2ic64ih14kh3sh2ph1"))
    assert answer.state == "refused"
    assert answer.error.startswith("pooling_forward")
    assert answer.attempts


@pytest.mark.slow
def test_a_level_limits_the_implementations(prober):
    with Prober("cpu", "sse41") as old:
        assert old.facts["isa"] == "sse41"
        assert prober.facts["isa"] == dnnl.get_effective_cpu_isa().name
        found = old.ask(case_of("--pool --tag=aBx8b mb2ic64ih14kh3sh2ph1"))
        assert found.impl == "jit:sse41"


@pytest.mark.slow
def test_the_process_that_died_is_replaced(prober):
    prober.process.kill()
    answer = prober.ask(case_of(CONV))
    assert answer.state == "died"
    assert probe.rank(answer.state) < probe.rank("refused")
    assert prober.ask(case_of(CONV)).state == "optimized"


@pytest.mark.slow
def test_missing_device_is_reported():
    with pytest.raises(ProbeError, match="device must be one of"):
        Prober("nonsense")


@pytest.mark.parametrize(
    ("impl", "state"),
    [
        ("ref:any", "ref"),
        ("ocl:ref", "ref"),
        ("simple:any", "simple"),
        ("brg_conv_fwd:avx512_core", "optimized"),
        ("gemm:jit", "optimized"),
        ("something new", "optimized"),
    ],
)
def test_states_of_implementations(impl, state):
    assert probe.state(impl) == state


def test_targets_are_named_by_instruction_set_or_gpu():
    assert probe.target_name({"kind": "cpu", "isa": "avx2"}) == "cpu:avx2"
    assert probe.target_name({"kind": "gpu", "device": "Intel(R) Graphics [0x56a0]"}) == "Arc A770"
    assert probe.target_name({"kind": "gpu", "device": "another"}) == "another"
