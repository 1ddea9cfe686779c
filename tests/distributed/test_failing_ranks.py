# SPDX-License-Identifier: Apache-2.0
"""A rank that dies, stays away or does something else: every rank says what, and ends."""

import pytest
from rank_jobs import needs_oneccl, run_ranks

SUM = "all_reduce(float32, 5 elements, sum)"


#: Of rank 1; a late rank is no fault.
DIFFERENT = ("other_size", "other_dtype", "other_kind", "other_order")


def said(lines, words):
    return [line for line in lines if words in line]


@needs_oneccl
def test_ranks_that_differ_are_told_both_sides():
    lines = run_ranks(2, "faults.py", f"late {' '.join(DIFFERENT)}", status=3)
    differences = {
        "other_size": "all_reduce(float32, 4 elements, sum)",
        "other_dtype": "all_reduce(int32, 5 elements, sum)",
        "other_kind": "all_gather(float32, 5 elements)",
    }
    for case, other in differences.items():
        for rank in range(2):
            (line,) = said(lines, f"[{rank}] {case}: MismatchError: ")
            assert line.endswith(f"rank 0: {SUM}; rank 1: {other}")
    assert len(said(lines, f"rank 0: all_reduce(float32, 3 elements, sum); rank 1: {SUM}")) == 2


@needs_oneccl
def test_a_rank_that_dies_ends_the_others():
    lines = run_ranks(2, "faults.py", "killed_later", 600, "never", status=137)
    assert said(lines, f"[0] sycl_dnn.distributed: rank 0: {SUM} (number 2 of group world) cannot "
                       "end: rank 1 has died")  # fmt: skip
    assert said(lines, "launch: rank 1 ended with 137")


@needs_oneccl
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("raises", "ValueError: an error of the program's own"),
        ("out_of_memory", "USM allocation failed"),
    ],
)
def test_an_error_of_one_rank_ends_the_others(case, words):
    lines = run_ranks(2, "faults.py", case, status=1)
    assert [line for line in said(lines, words) if line.startswith("[1] ")]
    assert said(lines, f"{SUM}: rank 1 has ")


@needs_oneccl
@pytest.mark.parametrize("case", ["never_comes", "stopped"])
def test_a_rank_that_stays_away_is_named_at_the_timeout(case):
    lines = run_ranks(2, "faults.py", case, 3, "never", status=124)
    # A stopped rank may not have told what it did last.
    last = f"it ended {SUM}" if case == "never_comes" else "it "
    assert said(lines, f"[0] sycl_dnn.distributed: rank 0: {SUM} (number 2 of group world) did not "
                       f"end within 3 s: rank 1 is missing: {last}")  # fmt: skip


@needs_oneccl
def test_interrupts_are_heard_in_a_collective():
    lines = run_ranks(2, "faults.py", "interrupted", 600, "never", status=130)
    assert said(lines, f"{SUM} (number 2 of group world) was interrupted")
