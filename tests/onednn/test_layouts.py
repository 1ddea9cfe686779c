# SPDX-License-Identifier: Apache-2.0
"""Every primitive over axes in every order and of length 1: a sample; all with CI_LONG=1."""

import os
import random
from collections import Counter

import layout_cases
import pytest
from conformance.case_runs import FAILURES, run_case

#: How many lines of each driver the sample has, each with one case.
PER_DRIVER = 6
SEED = 29


def lines_by_driver():
    result = {}
    for line in layout_cases.lines():
        result.setdefault(line.partition(" ")[0], []).append(line)
    return result


LINES = lines_by_driver()


def chosen(driver):
    """The sample, or each case."""
    if os.environ.get("CI_LONG"):
        yield from layout_cases.cases(LINES[driver])
        return
    rng = random.Random(f"{SEED} {driver}")
    for line in rng.sample(LINES[driver], PER_DRIVER):
        yield rng.choice(list(layout_cases.cases([line])))


@pytest.mark.slow
@pytest.mark.parametrize("driver", LINES)
def test_values_do_not_depend_on_the_layout(driver, cpu_stream):
    outcomes = [(case.line, run_case(case, cpu_stream)) for case in chosen(driver)]
    wrong = [f"{line}: {done.reason}" for line, done in outcomes if done.status in FAILURES]
    assert not wrong, "\n".join(wrong)
    assert Counter(done.status for _, done in outcomes)["PASSED"] > 0


@pytest.mark.parametrize("rank", layout_cases.SHAPES)
def test_every_order_is_among_the_lines(rank):
    lines = " ".join(layout_cases.lines())
    assert all(f"tag={order}" in lines for order in layout_cases.orders(rank))
