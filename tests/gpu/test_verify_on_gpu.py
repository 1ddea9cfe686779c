# SPDX-License-Identifier: Apache-2.0
"""Cases of every driver of the conformance runner on the GPU.

On a simulated one they are compiled and submitted, and that is what their status says.
"""

import random
from collections import Counter
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


@pytest.mark.parametrize("driver", ALL_DRIVERS)
def test_cases_of_each_driver(driver, stream):
    simulated = is_simulated("gpu")
    cases = random.Random(driver).sample(list(read_file(FOLDER / f"{driver}.in")), PER_DRIVER)
    results = [run_case(case, stream, Limits(check=not simulated)) for case in cases]
    bad = [f"{r.reason}: {r.line}" for r in results if r.status in FAILURES]
    assert not bad
    counts = Counter(result.status for result in results)
    assert counts["SUBMITTED" if simulated else "PASSED"] > 0


def test_the_command_says_that_nothing_was_compared(capfd):
    status = main(["--device=gpu", "--softmax", "4x33", "--sdt=f32"])
    out = capfd.readouterr().out
    assert status == 0
    is_submitted = any(
        line.startswith("SUBMITTED") and "--softmax" in line for line in out.splitlines()
    )
    assert is_submitted is is_simulated("gpu")
    assert "1 cases in" in out


@pytest.mark.usefixtures("values")
def test_winograd_is_allowed_its_rounding_by_whatever_name_it_was_chosen(stream):
    text = "--conv --dir=FWD_I --alg=WINO,AUTO mb1ic16ih8oc16kh3ph1"
    for case in cases_of(text):
        result = run_case(case, stream)
        assert (result.status, result.impl) == ("PASSED", "ocl:xe:wino"), result.reason
