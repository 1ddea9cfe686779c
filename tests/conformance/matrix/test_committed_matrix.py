# SPDX-License-Identifier: Apache-2.0
"""The committed matrix: every cell on every target, and what this CPU answers to some of them."""

from pathlib import Path

import pytest

from conformance.matrix import record
from conformance.matrix.families import FAMILIES, cells
from conformance.matrix.page import page
from conformance.matrix.record import load, measure, state_of
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.explain.probe import ProbeError, Prober, target_name

DOCS = Path(__file__).resolve().parents[3] / "docs"


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
def test_a_level_that_the_machine_lacks_is_told(prober):
    part = list(cells(["sum"]))[:1]
    if prober.facts["isa"] != "avx10_2_amx_2":
        with pytest.raises(ProbeError, match="has none of the levels avx10_2_amx_2"):
            measure(["cpu"], ("avx10_2_amx_2",), part, print)
