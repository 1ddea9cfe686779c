# SPDX-License-Identifier: Apache-2.0
"""Random programs and stacks of layers against the installed PyTorch, as many as ``--programs``."""

import faulthandler
import math

import pytest

import sycl_dnn

torch = pytest.importorskip("torch")

from differential.layer_playing import play_stack  # noqa: E402
from differential.playing import play_seed, program_of  # noqa: E402

PLAY = {"program": play_seed, "layers": play_stack}
#: Seconds for one program, after which the process ends; pytest-xdist says in which test.
LONGEST = 240


def pytest_generate_tests(metafunc):
    """Two stacks of layers for five programs."""
    if "kind" not in metafunc.fixturenames:
        return
    option = metafunc.config.getoption
    count, first = option("--programs"), option("--seed") * 1_000_000
    rows = [("program", first + number) for number in range(count)]
    rows += [("layers", first + number) for number in range(count * 2 // 5)]
    metafunc.parametrize(("kind", "seed"), rows)


def test_every_tenth_program_has_large_arrays():
    sizes = [max(math.prod(i.shape) for i in program_of(seed)[0].inputs) for seed in range(30)]
    assert [n for n, size in enumerate(sizes) if size > 100_000] == [9, 19, 29]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_programs_match_torch_in_every_way_to_call(kind, seed):
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        program, _, findings = PLAY[kind](seed, sycl_dnn.default_queue())
    finally:
        faulthandler.cancel_dump_traceback_later()
    found = [f"{f.way}: {f.kind}: {f.text}" for f in findings if f.kind != "refused"]
    assert not found, program.standing_alone() + "\n".join(found)
