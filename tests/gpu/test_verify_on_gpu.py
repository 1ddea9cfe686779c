# SPDX-License-Identifier: Apache-2.0
"""Cases of every driver of the conformance runner on the GPU.

On a simulated one they are compiled and submitted, and that is what their status says.
"""

import random
from pathlib import Path

import pytest
from conformance.verify.case_reader import ALL_DRIVERS, cases_of, read_file
from conformance.verify.command import main
from conformance.verify.outcomes import FAILURES, Limits
from conformance.verify.runner import run_case

from sycl_dnn.device import is_simulated

FOLDER = Path(__file__).parents[1] / "conformance"
#: Of each driver; ``verify --device gpu`` itself runs more of them, see .ci/run.
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
    simulated = is_simulated("gpu")
    result = run_case(case, stream, Limits(check=not simulated))
    assert result.status not in FAILURES, f"{result.reason}: {result.line}"
    return result.status == ("SUBMITTED" if simulated else "PASSED")


@pytest.mark.parametrize("line", NARROW)
def test_narrow_types(line, stream):
    for case in cases_of(line):
        assert runs(case, stream)


@pytest.mark.parametrize("driver", ALL_DRIVERS)
def test_cases_of_each_driver(driver, stream):
    """The plainest of each direction, and others at random."""
    cases = list(read_file(FOLDER / f"{driver}.in"))
    first = {case.texts.get("dir", case.texts.get("prop")): case for case in reversed(cases)}
    drawn = random.Random(driver).sample(cases, PER_DRIVER)
    done = [runs(case, stream) for case in (*first.values(), *drawn)]
    assert any(done)


def test_command_reports_that_nothing_was_compared(capfd):
    status = main(["--device=gpu", "--softmax", "4x33", "--sdt=f32"])
    out = capfd.readouterr().out
    assert status == 0
    is_submitted = any(
        line.startswith("SUBMITTED") and "--softmax" in line for line in out.splitlines()
    )
    assert is_submitted is is_simulated("gpu")
    assert "1 cases in" in out


@pytest.mark.usefixtures("values")
def test_winograd_tolerance_applies_to_every_algorithm_name(stream):
    text = "--conv --dir=FWD_I --alg=WINO,AUTO mb1ic16ih8oc16kh3ph1"
    for case in cases_of(text):
        result = run_case(case, stream)
        assert (result.status, result.impl) == ("PASSED", "ocl:xe:wino"), result.reason
