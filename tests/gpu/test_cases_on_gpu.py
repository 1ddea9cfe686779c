# SPDX-License-Identifier: Apache-2.0
"""Conformance cases of every driver on the GPU.

On a simulated one they are compiled and submitted, and that is what their status says.
"""

import random
from pathlib import Path

import pytest
from conformance.case_runs import FAILURES, cases_of, run_case

from sycl_dnn.device import is_simulated
from sycl_dnn.tools.cases.case_files import read_file
from sycl_dnn.tools.cases.drivers import DRIVERS

FOLDER = Path(__file__).parents[1] / "conformance"
#: Of each driver; ``pytest tests/conformance --device gpu`` runs more of them, see .ci/run.
PER_DRIVER = 3


#: In float16 and bfloat16, and one of integers.
NARROW = [
    f"--{driver} --{option}=f16,bf16 {problem}"
    for driver, option, problem in (
        ("conv", "dt", "mb2ic16ih6oc16kh3ph1"), ("matmul", "dt", "12x32:32x16"),
        ("ip", "dt", "mb4ic33oc17"), ("eltwise", "dt", "3x17x5x4"), ("softmax", "sdt", "5x17x6"),
        ("pool", "dt", "mb2ic16ih8kh2sh2"), ("lnorm", "dt", "3x4x33"),
        ("binary --ddt=f32", "sdt", "3x17x5x4:1x17x1x1"),
    )
] + ["--conv --dir=FWD_I --dt=s8:s8:s8 mb2ic16ih8oc16kh3ph1"]  # fmt: skip


def runs(case, stream):
    """Run a case that must not fail; return whether it passed or, simulated, was submitted."""
    outcome = run_case(case, stream)
    assert outcome.status not in FAILURES, f"{outcome.reason}: {case.line}"
    return outcome.status == ("SUBMITTED" if is_simulated("gpu") else "PASSED")


@pytest.mark.parametrize("line", NARROW)
def test_narrow_types(line, stream):
    for case in cases_of(line):
        assert runs(case, stream)


@pytest.mark.parametrize("driver", DRIVERS)
def test_cases_of_each_driver(driver, stream):
    """The plainest of each direction, and others at random."""
    cases = list(read_file(FOLDER / f"{driver}.in"))
    first = {case.texts.get("dir", case.texts.get("prop")): case for case in reversed(cases)}
    drawn = random.Random(driver).sample(cases, PER_DRIVER)
    done = [runs(case, stream) for case in (*first.values(), *drawn)]
    assert any(done)


@pytest.mark.usefixtures("values")
def test_winograd_tolerance_applies_to_every_algorithm_name(stream):
    text = "--conv --dir=FWD_I --alg=WINO,AUTO mb1ic16ih8oc16kh3ph1"
    for case in cases_of(text):
        result = run_case(case, stream)
        assert (result.status, result.impl) == ("PASSED", "ocl:xe:wino"), result.reason
