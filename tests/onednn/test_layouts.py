# SPDX-License-Identifier: Apache-2.0
"""Every primitive over axes in every order and of length 1: a sample; all with CI_LONG=1."""

import os
import random
from collections import Counter

import layout_cases
import pytest
from conformance.verify.outcomes import FAILURES, Limits
from conformance.verify.runner import Pool

#: How many lines of each driver the sample has, each with one case.
PER_DRIVER = 6
SEED = 29


def drawn(seed):
    """One case of some lines of each driver."""
    rng, by_driver = random.Random(seed), {}
    for line in layout_cases.lines():
        by_driver.setdefault(line.partition(" ")[0], []).append(line)
    for lines in by_driver.values():
        for line in rng.sample(lines, PER_DRIVER):
            yield rng.choice(list(layout_cases.cases([line])))


def chosen():
    """The sample, or each case."""
    if os.environ.get("CI_LONG"):
        return layout_cases.cases(layout_cases.lines())
    return drawn(SEED)


@pytest.mark.slow
def test_values_do_not_depend_on_the_layout():
    pool = Pool("cpu", Limits(), timeout=60)
    try:
        results = list(pool.run(chosen(), os.cpu_count() or 1))
    finally:
        pool.close()
    counts = Counter(result["status"] for result in results)
    wrong = [f"{r['line']}: {r['reason']}" for r in results if r["status"] in FAILURES]
    assert not wrong, "\n".join([str(dict(counts)), *wrong])
    assert counts["PASSED"] > len(results) / 3, counts


@pytest.mark.parametrize("rank", layout_cases.SHAPES)
def test_every_order_is_among_the_lines(rank):
    lines = " ".join(layout_cases.lines())
    assert all(f"tag={order}" in lines for order in layout_cases.orders(rank))
