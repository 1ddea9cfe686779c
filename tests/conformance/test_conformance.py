# SPDX-License-Identifier: Apache-2.0
"""Every case of the case files, one test each; a part of them is quick."""

import itertools
from collections import Counter
from pathlib import Path

import pytest
from primitive_cases import call_of, calls_by_row, described

from conformance.case_runs import FAILURES, cases_of, replay, run_case
from sycl_dnn import Unimplemented
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases.case_files import read_file
from sycl_dnn.tools.cases.drivers import DRIVERS

FOLDER = Path(__file__).parent
EACH = {driver: list(read_file(FOLDER / f"{driver}.in")) for driver in DRIVERS}


def pytest_generate_tests(metafunc):
    """Run the files' cases, or those of ``--cases``."""
    if "case" in metafunc.fixturenames:
        line = metafunc.config.getoption("--cases")
        cases = cases_of(line) if line else itertools.chain(*EACH.values())
        metafunc.parametrize("case", list(cases), ids=lambda case: case.line)


@pytest.mark.sweep(28)
def test_case(case, stream, record_property):
    outcome = run_case(case, stream)
    for name, value in (("driver", case.driver), *outcome._asdict().items()):
        record_property(name, value)
    assert outcome.status not in FAILURES, f"{outcome.reason}\n{replay(case.line)}"


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_driver_has_cases_that_pass(driver, cpu_stream):
    """Refusals alone prove nothing: some case of each driver must compute results."""
    statuses = Counter(run_case(case, cpu_stream).status for case in EACH[driver][:12])
    assert statuses["PASSED"] > 0


def test_every_primitive_has_cases():
    assert calls_by_row().keys() == set(dnnl.PRIMITIVES)


def test_refusals_have_reasons(cpu_stream):
    with pytest.raises(Unimplemented) as refusal:
        described(call_of("--deconv --alg=WINO mb1ic16ih4oc16kh3ph1"), cpu_stream.engine)
    assert refusal.value.reasons


@pytest.mark.slow
def test_one_file_includes_all_case_files():
    lines = {case.line for case in read_file(FOLDER / "all.in")}
    assert lines == {case.line for cases in EACH.values() for case in cases}


def test_lines_of_cases_parse_to_the_same_case():
    for case in (cases[-1] for cases in EACH.values()):
        (again,) = cases_of(case.line)
        assert (again.driver, again.problem, again.texts) == (case.driver, case.problem, case.texts)
