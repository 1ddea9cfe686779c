# SPDX-License-Identifier: Apache-2.0
"""Random programs, called in every way, compared with PyTorch's results in float64."""

import pytest

import sycl_dnn
from differential.recorded_programs import PATH, read
from differential.ways import call_all, suspicious

PROGRAMS = read()


def test_the_file_is_small_and_complete():
    assert len(PROGRAMS) == 100
    assert PATH.stat().st_size < 1_000_000


@pytest.mark.sweep(40)
@pytest.mark.parametrize("index", range(len(PROGRAMS)))
def test_programs_match_torch_in_every_way_to_call(index):
    program, references = PROGRAMS[index]
    # Arrays that programs create are on the default queue.
    caller = call_all(program, sycl_dnn.default_queue(), *references, extra=index % 8 == 0)
    found = [f"{f.way}: {f.kind}: {f.text}" for f in suspicious(caller)]
    assert not found, program.standing_alone() + "\n".join(found)
    assert caller.passed or all(f.kind == "refused" for f in caller.findings)
