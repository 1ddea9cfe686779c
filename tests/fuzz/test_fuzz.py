# SPDX-License-Identifier: Apache-2.0
"""Some 2,000 generated calls; tests/fuzz/run.py generates any number of them."""

import hypothesis
import pytest
from hypothesis import strategies as st

from fuzz.calls import KINDS, Tally, make_stream

CALLS = 2000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_calls_are_taken_or_refused_as_documented(kind):
    tally, stream = Tally(), make_stream()

    @hypothesis.settings(
        max_examples=CALLS * KINDS[kind][1] // 100, database=None, deadline=None, derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(st.data())
    def one(data):
        tally.play(kind, data.draw, stream)

    one()
    # Few suffice: what is drawn depends on the modules that other tests have loaded.
    assert tally.counts["accepted"] > 3
    assert sum(tally.counts.values()) - tally.counts["accepted"] > 3
