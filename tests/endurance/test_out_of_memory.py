# SPDX-License-Identifier: Apache-2.0
"""A failed allocation raises MemoryError and leaves everything usable."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


def test_refused_allocations_leave_everything_usable():
    counts, too_large, afterwards = lines_of("refused_memory")
    refused, done = map(int, counts.split())
    assert refused >= 1
    assert done >= 1
    assert too_large == "too large: {'refused': 3, 'done': 0}"
    assert afterwards == "afterwards: True"
