# SPDX-License-Identifier: Apache-2.0
"""Memory does not grow with the number of objects created, deleted and called."""

import pytest

from endurance.processes import lines_of

#: kind -> number in this short version (run.py has the long one), MB that may be added at most.
#: Caches of shapes fill and are emptied again; memory that malloc got back stays resident. Training
#: adds 0 to 3 MB; 22 were seen under heavy load, probably for steps in flight.
NUMBERS = {
    "engines": (2000, 5), "queues": (2000, 5), "shapes": (4000, 40), "small_calls": (30_000, 5),
    "threads": (800, 10), "profiles": (1000, 5), "training": (2000, 40),
}  # fmt: skip


SMOKE = pytest.param("queues", marks=pytest.mark.smoke)


@pytest.mark.slow
@pytest.mark.resident_memory
@pytest.mark.parametrize("kind", [*(kind for kind in NUMBERS if kind != "queues"), SMOKE])
def test_second_half_of_a_run_needs_no_more_memory(kind):
    number, most = NUMBERS[kind]
    (line,) = lines_of("memory", kind, number)
    resident = [float(mb) for mb in line.split()]
    assert resident[-1] - resident[4] < most, resident
