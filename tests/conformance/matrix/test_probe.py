# SPDX-License-Identifier: Apache-2.0
"""What is measured: answers of oneDNN, levels of the CPU, and the committed file."""

from pathlib import Path

import pytest

from conformance.matrix import record
from conformance.matrix.families import FAMILIES, cells
from conformance.matrix.page import page
from conformance.matrix.record import load, measure, state_of
from sycl_dnn import DnnlError
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import call as attributes
from sycl_dnn.tools.cases.call import describe
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.explain import probe
from sycl_dnn.tools.explain.probe import ProbeError, Prober, target_name

DOCS = Path(__file__).resolve().parents[3] / "docs"
REFUSED = "--pool --dt=f64 mb2ic64ih14kh3sh2ph1"
CONV = "--conv --dir=FWD_I mb2ic64ih14oc64kh3ph1"


@pytest.fixture(scope="module")
def committed():
    return load(DOCS / "support_matrix.json")


@pytest.fixture(scope="module")
def prober():
    with Prober("cpu") as found:
        yield found


@pytest.mark.slow
def test_a_part_of_the_cpu_table_is_as_committed(committed, prober):
    name = target_name(prober.facts)
    facts = committed.targets.get(name)
    if facts is None or facts["commit"] != prober.facts["commit"]:
        pytest.skip(f"the committed file has no {name} of this oneDNN")
    part = [*cells(["eltwise", "lnorm", "softmax", "sum"])]
    found = measure(["cpu"], (prober.facts["isa"],), part, lambda line: None)
    difference = record.compare(committed, found)
    assert difference.compared == len(part) > 500
    changed = [c for c in difference.changes if state_of(c.old) != state_of(c.new)]
    assert changed == []


@pytest.mark.slow
def test_the_page_is_that_of_the_committed_file(committed):
    assert (DOCS / "support_matrix.md").read_text() == page(committed)


@pytest.mark.slow
def test_the_committed_file_has_every_cell_on_every_target(committed):
    lines = {cell.line for cell in cells()}
    assert lines == committed.cases.keys()
    targets = set(committed.targets)
    assert {"cpu:sse41", "cpu:avx2", "Arc A770", "DG1", "Tiger Lake"} <= targets
    assert all(answers.keys() == targets for answers in committed.cases.values())
    simulated = {name for name, facts in committed.targets.items() if facts["simulated"]}
    assert simulated == {"Arc A770", "DG1", "Tiger Lake"}
    assert "died" not in {state_of(a) for found in committed.cases.values() for a in found.values()}


@pytest.mark.slow
def test_every_driver_is_tried_with_cells_that_differ():
    assert FAMILIES.keys() == DRIVERS.keys()
    every = list(cells())
    assert len({cell.line for cell in every}) == len(every)
    with pytest.raises(ValueError, match="drivers must be of conv, .* got 'convolution'"):
        list(cells(["convolution"]))


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
    wanted = [pd.impl_info]
    while pd.next_impl():
        wanted.append(pd.impl_info)
    answer = prober.ask(case_of(CONV), every=True)
    taken = [a for a in answer.attempts if not a.reason]
    assert [a.impl for a in taken] == wanted
    assert answer.impl == wanted[0] == answer.first.impl
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
    prober.process.wait()
    answer = prober.ask(case_of(CONV))
    assert answer.state == "died"
    assert probe.rank(answer.state) < probe.rank("refused")
    assert prober.ask(case_of(CONV)).state == "optimised"


@pytest.mark.slow
def test_no_device_and_no_level_are_told():
    with pytest.raises(ProbeError, match="device must be one of"):
        Prober("nonsense")
    part = list(cells(["sum"]))[:1]
    with Prober("cpu") as one:
        newest = one.facts["isa"]
    if newest != "avx10_2_amx_2":
        with pytest.raises(ProbeError, match="has none of the levels avx10_2_amx_2"):
            measure(["cpu"], ("avx10_2_amx_2",), part, print)
