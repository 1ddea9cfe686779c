# SPDX-License-Identifier: Apache-2.0
"""Random programs against the installed PyTorch, as many as ``--programs``."""

import faulthandler
import math

import pytest

import sycl_dnn

torch = pytest.importorskip("torch")

from differential.playing import play_seed, program_of  # noqa: E402

#: Seconds for one program, after which the process ends; pytest-xdist says in which test.
LONGEST = 240


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        option = metafunc.config.getoption
        first = option("--seed") * 1_000_000
        metafunc.parametrize("seed", range(first, first + option("--programs")))


def test_every_tenth_program_has_large_arrays():
    sizes = [max(math.prod(i.shape) for i in program_of(seed)[0].inputs) for seed in range(30)]
    assert [n for n, size in enumerate(sizes) if size > 100_000] == [9, 19, 29]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_programs_match_torch_in_every_way_to_call(seed):
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        program, _, findings = play_seed(seed, sycl_dnn.default_queue())
    finally:
        faulthandler.cancel_dump_traceback_later()
    found = [f"{f.way}: {f.kind}: {f.text}" for f in findings if f.kind != "refused"]
    assert not found, program.standing_alone() + "\n".join(found)
