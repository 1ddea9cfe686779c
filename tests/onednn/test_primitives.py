# SPDX-License-Identifier: Apache-2.0
"""Every primitive of dnnl.hpp, forward and backward, against float64 references."""

import pytest
from case_runner import relative_error, run
from cases import CASES

from sycl_dnn import Unimplemented
from sycl_dnn import onednn as dnnl

ALL = [case for cases in CASES.values() for case in cases]

#: What a CPU engine refuses, with reasons.
NOT_ON_CPU = {
    "convolution_forward:winograd",
    "batch_normalization_forward:add_relu",
    "batch_normalization_backward:add_relu",
}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case_matches_reference(case, stream):
    arrays = case.inputs()
    if stream.engine.kind is dnnl.engine_kind.cpu and case.id in NOT_ON_CPU:
        with pytest.raises(Unimplemented) as refusal:
            run(case, stream, arrays)
        assert refusal.value.reasons
        return
    outputs = run(case, stream, arrays)
    for name, expected in case.expected(arrays).items():
        if name not in case.faulty:
            got = outputs[name].reshape(expected.shape)
            assert relative_error(got, expected) < 2e-5, name


def test_every_primitive_has_cases():
    assert {case.row for case in ALL} == set(dnnl.PRIMITIVES)
