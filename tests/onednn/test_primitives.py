# SPDX-License-Identifier: Apache-2.0
"""Every primitive of dnnl.hpp, forward and backward, against float64 references."""

import numpy as np
import pytest
from case_runner import run
from cases import CASES

from sycl_dnn import Unimplemented

ALL = [case for cases in CASES.values() for case in cases]

#: What a CPU engine refuses; a case may be refused only where this says so.
NOT_ON_CPU = {
    "convolution_forward:winograd",
    "batch_normalization_forward:add_relu",
    "batch_normalization_backward:add_relu",
}


def relative_error(got, expected):
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    return np.abs(got - expected).max(initial=0.0) / scale


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case_matches_reference(case, stream):
    arrays = case.inputs()
    try:
        outputs = run(case, stream, arrays)
    except Unimplemented as refusal:
        assert case.id in NOT_ON_CPU, refusal
        assert refusal.reasons
        return
    for name, expected in case.expected(arrays).items():
        if name not in case.faulty:
            got = outputs[name].reshape(expected.shape)
            assert relative_error(got, expected) < 2e-5, name
