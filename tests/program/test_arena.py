# SPDX-License-Identifier: Apache-2.0
"""Places of intermediate values: hand-made steps, and drawn ones against a plain search."""

import random
from types import SimpleNamespace

import pytest

from sycl_dnn import _core
from sycl_dnn.program.segments import Arena, Places
from sycl_dnn.program.step_order import ALIGNMENT
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Step
from sycl_dnn.trace.values import Storage, Tensor


@pytest.fixture
def trace(queue):
    return Trace(_core.Engine(queue))


@pytest.fixture
def value(trace):
    """Return a maker of values of as many blocks of the alignment."""

    def make(blocks, **traits):
        desc = layout.row_major((blocks * ALIGNMENT // 4,), "float32")
        return Tensor(trace, Storage(desc, **traits), desc, "float32", desc.dims)

    return make


def step(read, written):
    return Step(None, {str(i): t for i, t in enumerate(read)}, {"dst": written})


def offsets(arena, *values):
    return [arena.offsets[id(v.storage)] // ALIGNMENT for v in values]


def test_placed_values_and_memories_get_no_place(value):
    given, held, result = value(1), value(1, memory=object()), value(3)
    arena = Arena([step([given, held], result)], {id(given.storage): 0})
    assert list(arena.offsets) == [id(result.storage)]


def test_scratchpads_live_for_one_step():
    desc = layout.row_major((8, 512), "float32")
    primitive = SimpleNamespace(primitive_desc=SimpleNamespace(scratchpad_desc=desc))
    arena = Arena([Step(primitive, {}, {}), Step(primitive, {}, {})], {})
    assert [offset for _, offset in arena.scratchpads.values()] == [0, 0]
    assert arena.nbytes == desc.size


def _plain_search(placed, nbytes, first, last):
    offset = 0
    for start, end, born, died in sorted(placed):
        if born > last or died < first:
            continue
        if start - offset >= nbytes:
            break
        offset = max(offset, end)
    return offset


@pytest.mark.parametrize("seed", range(40))
def test_random_values_get_the_lowest_free_place(seed):
    draw = random.Random(seed)
    n_steps = draw.randint(1, 50)
    starts = [draw.randrange(n_steps) for _ in range(draw.randint(1, 80))]
    stretches = [(s, min(n_steps - 1, s + draw.choice([0, 1, 2, 10, 50]))) for s in starts]
    places, placed = Places(len(stretches)), []
    for first, last in stretches:
        nbytes = ALIGNMENT * draw.choice([0, 1, 1, 2, 3, 7, 20])
        offset = places.take(nbytes, first, last)
        assert offset == _plain_search(placed, nbytes, first, last)
        placed.append((offset, offset + nbytes, first, last))
