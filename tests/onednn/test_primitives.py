# SPDX-License-Identifier: Apache-2.0
"""Every primitive of dnnl.hpp, forward and backward, against float64 references."""

import pytest
from case_runner import faulty_outputs, is_refused, relative_error, run
from cases import CASES

from sycl_dnn import Unimplemented
from sycl_dnn import onednn as dnnl

ALL = [case for cases in CASES.values() for case in cases]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case_matches_reference(case, stream):
    arrays = case.inputs()
    if is_refused(case, stream.engine):
        with pytest.raises(Unimplemented) as refusal:
            run(case, stream, arrays)
        assert refusal.value.reasons
        return
    outputs = run(case, stream, arrays)
    faulty = faulty_outputs(case, stream.engine)
    for name, expected in case.expected(arrays).items():
        if name not in faulty:
            got = outputs[name].reshape(expected.shape)
            assert relative_error(got, expected) < 2e-5, name


def test_every_primitive_has_cases():
    assert {case.row for case in ALL} == set(dnnl.PRIMITIVES)
