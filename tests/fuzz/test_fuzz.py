# SPDX-License-Identifier: Apache-2.0
"""Some 2,000 generated calls, or as many as ``--calls`` says; ``-s`` prints each of them."""

import faulthandler

import hypothesis
import pytest
from hypothesis import strategies as st

from fuzz import values
from fuzz.calls import KINDS, Tally, make_stream

#: Calls of one test.
BATCH = 1000
#: Seconds for one call, after which the process ends; pytest-xdist says in which test.
LONGEST = 120


def pytest_generate_tests(metafunc):
    """Divide the calls of each kind into batches, each with its own seed."""
    option = metafunc.config.getoption
    total, first = option("--calls"), option("--seed") * 100_000
    batches = [
        (kind, min(BATCH, count - done))
        for kind, (_, share) in KINDS.items()
        for count in [total * share // 100]
        for done in range(0, count, BATCH)
    ]
    rows = [(kind, first + number, calls) for number, (kind, calls) in enumerate(batches)]
    metafunc.parametrize(("kind", "seed", "calls"), rows)


@pytest.mark.slow
def test_calls_are_taken_or_refused_as_documented(kind, seed, calls, request, monkeypatch):
    if request.config.getoption("capture") == "no":
        monkeypatch.setattr(values, "listeners", [lambda *parts: print(*parts, flush=True)])
    tally, stream = Tally(), make_stream()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=calls, database=None, deadline=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def one(data):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        tally.play(kind, data.draw, stream)

    try:
        one()
    finally:
        faulthandler.cancel_dump_traceback_later()
    # Few suffice: what is drawn depends on the modules that other tests have loaded.
    accepted = tally.counts["accepted"]
    assert calls < 100 or min(accepted, sum(tally.counts.values()) - accepted) > 3, tally.counts
