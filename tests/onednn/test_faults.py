# SPDX-License-Identifier: Apache-2.0
"""Known faults of oneDNN: still there, and warned of exactly where a case meets one."""

import warnings

import numpy as np
import pytest
from case_runner import run
from cases import CASES

from sycl_dnn import OneDnnFaultWarning

FAULTY = [case for cases in CASES.values() for case in cases if case.fault]
#: Their forward descriptors, needed as hints, do meet a fault.
FAULTY_HINT = "1x1_row_major"
SOUND = [
    case
    for cases in CASES.values()
    for case in cases
    if case.forward is not None and not case.fault and case.name != FAULTY_HINT
]


def is_wrong(got, expected):
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    return np.abs(got.reshape(expected.shape) - expected).max(initial=0.0) / scale > 2e-5


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.id)
def test_fault_is_warned_of(case, stream):
    plain = case.row == "deconvolution_forward"
    arrays = case.inputs()
    with pytest.warns(OneDnnFaultWarning, match="known fault of oneDNN"):
        outputs = run(case, stream, arrays, any_weights=not plain)
    expected = case.expected(arrays)
    wrong = [name for name in case.faulty if is_wrong(outputs[name], expected[name])]
    assert wrong, "oneDNN may have mended this: look, then drop the fault and its warning"


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case.id)
def test_sound_case_has_no_warning(case, stream):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneDnnFaultWarning)
        try:
            run(case, stream, case.inputs())
        except NotImplementedError:
            assert "add_relu" in case.name
