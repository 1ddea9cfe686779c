# SPDX-License-Identifier: Apache-2.0
"""A subset of the case files, one test per line; `python tests/conformance verify` runs all."""

import random
from collections import Counter
from pathlib import Path

import pytest
from primitive_cases import call_of, calls_by_row, described

from conformance.verify.case_reader import ALL_DRIVERS, read_file, replay
from conformance.verify.outcomes import FAILURES
from conformance.verify.runner import run_case
from sycl_dnn import Unimplemented
from sycl_dnn import onednn as dnnl

FOLDER = Path(__file__).parent
PER_DRIVER = 24


def _of(driver):
    return list(read_file(FOLDER / f"{driver}.in"))


EACH = {driver: _of(driver) for driver in ALL_DRIVERS}
DRAWN = [
    case
    for driver, cases in EACH.items()
    for case in random.Random(driver).sample(cases, min(PER_DRIVER, len(cases)))
]


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.line)
@pytest.mark.sweep(2)
def test_case(case, cpu_stream):
    result = run_case(case, cpu_stream)
    assert result.status not in FAILURES, f"{result.reason}\n{replay(case.line)}"


@pytest.mark.parametrize("driver", ALL_DRIVERS)
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


def test_minimum_number_of_cases():
    assert all(len(cases) >= 40 for cases in EACH.values())
    assert sum(map(len, EACH.values())) >= 2000


@pytest.mark.slow
def test_one_file_includes_all_case_files():
    lines = {case.line for case in read_file(FOLDER / "all.in")}
    assert lines == {case.line for cases in EACH.values() for case in cases}


def test_replay_lines_parse_to_the_same_case():
    from conformance.verify.case_reader import Reader
    from sycl_dnn.tools.cases.case_files import words_of_text

    for case in DRAWN:
        (again,) = Reader().cases(words_of_text(case.line, "line"), FOLDER)
        assert (again.driver, again.problem, again.texts) == (case.driver, case.problem, case.texts)
