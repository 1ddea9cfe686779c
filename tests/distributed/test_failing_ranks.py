# SPDX-License-Identifier: Apache-2.0
"""A rank that dies, stays away or does something else: every rank says what, and ends."""

from rank_jobs import needs_oneccl, run_ranks

SUM = "all_reduce(float32, 5 elements, sum)"


def said(lines, words):
    return [line for line in lines if words in line]


@needs_oneccl
def test_ranks_that_differ_are_told_both_sides():
    lines = run_ranks(2, "faults.py", "other_size other_dtype other_kind other_order", status=3)
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
def test_an_error_of_one_rank_ends_the_others():
    lines = run_ranks(2, "faults.py", "raises", status=1)
    assert said(lines, "[1] ValueError: an error of the program's own")
    assert said(lines, f"{SUM}: rank 1 has ")


@needs_oneccl
def test_a_rank_that_stays_away_is_named_at_the_timeout():
    lines = run_ranks(2, "faults.py", "never_comes", 3, "never", status=124)
    assert said(lines, f"[0] sycl_dnn.distributed: rank 0: {SUM} (number 2 of group world) did not "
                       f"end within 3 s: rank 1 is missing: it ended {SUM}")  # fmt: skip


@needs_oneccl
def test_interrupts_are_heard_in_a_collective():
    lines = run_ranks(2, "faults.py", "interrupted", 600, "never", status=130)
    assert said(lines, f"{SUM} (number 2 of group world) was interrupted")
