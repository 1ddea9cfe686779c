# SPDX-License-Identifier: Apache-2.0
"""A rank that dies, is absent or mismatched: every rank reports it and stops."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rank_jobs import ROOT, environment, free_port, needs_oneccl, run_ranks

SUM = "all_reduce(float32, 5 elements, sum)"


#: Cases of rank 1; a delay is not a fault.
DIFFERENT = ("other_size", "other_dtype", "other_kind", "other_order")


def said(lines, words):
    return [line for line in lines if words in line]


@needs_oneccl
def test_mismatched_ranks_are_reported_with_both_sides():
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
@pytest.mark.parametrize("case", ["other_size_later", "one_less"])
def test_mismatches_after_the_first_collectives_end_the_ranks(case):
    """Rank 1 waits for a comparison while rank 0 waits in a collective."""
    lines = run_ranks(2, "faults.py", case, 3, "first", status=124)
    assert said(lines, "of group world) did not end within 3 s: rank 1 is missing: it ended ")


@needs_oneccl
def test_an_order_that_differs_is_found_by_the_next_comparison():
    lines = run_ranks(2, "faults.py", "other_order_later", 600, "first")
    words = "ranks called different collectives: rank 0: all_reduce(float32, 2x3 elements, sum); "
    assert len(said(lines, words + "rank 1: all_reduce(float32, 3x2 elements, sum)")) == 6
    assert len(said(lines, "UserWarning: the last collectives of group world were not the")) == 2


@pytest.mark.smoke
@needs_oneccl
def test_a_rank_that_dies_ends_the_others():
    lines = run_ranks(2, "faults.py", "killed_later", 600, "never", status=137)
    assert said(lines, f"[0] sycl_dnn.distributed: rank 0: {SUM} (number 2 of group world) cannot "
                       "end: rank 1 has died")  # fmt: skip
    assert said(lines, "launch: rank 1 ended with 137")


@needs_oneccl
def test_a_rank_that_dies_before_a_comparison_is_named():
    lines = run_ranks(2, "faults.py", "killed", status=137)
    assert said(lines, f"[0] killed: RuntimeError: group world: {SUM}: rank 1 has died")


@needs_oneccl
def test_collective_refused_by_oneccl_gives_nan_and_an_error():
    lines = run_ranks(2, "faults.py", "refused_by_oneccl")
    assert len(said(lines, "nothing but NaN")) == 2


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
def test_an_absent_rank_is_named_at_the_timeout(case):
    lines = run_ranks(2, "faults.py", case, 3, "never", status=124)
    # A stopped rank may not have reported its last operation.
    last = f"it ended {SUM}" if case == "never_comes" else "it "
    assert said(lines, f"[0] sycl_dnn.distributed: rank 0: {SUM} (number 2 of group world) did not "
                       f"end within 3 s: rank 1 is missing: {last}")  # fmt: skip


@needs_oneccl
def test_only_the_missing_rank_of_three_is_named():
    lines = run_ranks(3, "faults.py", "never_comes", 3, "never", status=124)
    named = [line for line in said(lines, "did not end within 3 s: ") if line[0] == "["]
    # The first rank to stop asks rank 0; once rank 0 has stopped, too, others cannot.
    assert said(named, "rank 1 is missing: ")
    for line in named:
        assert line[:3] in ("[0]", "[2]")
        assert "rank 1 is missing: " in line or line.endswith("rank 0 does not answer")
        assert "rank 0 is" not in line
        assert "rank 2 is" not in line


@needs_oneccl
def test_a_stopped_rank_is_named_where_collectives_are_compared():
    lines = run_ranks(2, "faults.py", "stopped", 3, "always", status=3)
    words = f"RuntimeError: group world: {SUM}: rank 1 did not come within 3 s"
    assert said(lines, f"[0] stopped: {words}")


@needs_oneccl
def test_interrupts_are_handled_in_a_collective():
    lines = run_ranks(2, "faults.py", "interrupted", 600, "never", status=130)
    assert said(lines, f"{SUM} (number 2 of group world) was interrupted")


def shared_files():
    """Return the names of oneCCL's shared memory files."""
    return {path.name for path in Path("/dev/shm").glob("*:*")}


@needs_oneccl
@pytest.mark.parametrize(("case", "status"), [("late", 0), ("killed_later", 137)])
def test_shared_memory_of_ranks_is_removed(case, status):
    """Each rank removes it at exit; the launcher does so for a killed rank."""
    if not os.access("/dev/shm", os.W_OK) or os.statvfs("/dev/shm").f_bavail < 1 << 16:
        pytest.skip("/dev/shm has no 256 MB for two ranks")
    before = shared_files()
    lines = run_ranks(2, "faults.py", case, 600, "never", status=status, CCL_ATL_SHM="1")
    pids = {line.rpartition(" ")[2] for line in said(lines, "process ")}
    assert len(pids) == 2
    result = {name for name in shared_files() - before if name.partition(":")[0] in pids}
    assert not result


#: Rank 0 waits in a collective that rank 1 never reaches.
WAITS = """
import sys
import dpnp
from sycl_dnn import distributed as dist
group = dist.init(timeout=600, checking="never")
x = dpnp.ones(5, dtype="float32", sycl_queue=group.queue)
assert dist.all_reduce(x).tolist() == [2.0] * 5
print("ready", flush=True)
if group.rank == 0:
    dpnp.asnumpy(dist.all_reduce(x))
sys.stdin.read()
"""


@contextlib.contextmanager
def two_ranks():
    """Start both without a launcher, and let both reach the wait."""
    provided = environment(WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", WAITS], text=True, cwd=ROOT, env=provided | {"RANK": str(rank)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        for rank in ranks:
            assert "ready\n" in iter(rank.stdout.readline, "")  # oneCCL also writes lines
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate(timeout=600)


def interrupted(rank):
    """Send Ctrl-C, repeatedly if Python missed it before the wait; return time and errors."""
    time.sleep(0.5)
    while True:
        begun = time.monotonic()
        rank.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, text = rank.communicate(timeout=20)
            return time.monotonic() - begun, text


@needs_oneccl
def test_an_interrupt_ends_a_wait_within_a_second():
    """On an idle machine; the best of several times counts."""
    times = []
    while min(times, default=2.0) >= 1.0:
        assert len(times) < 6, f"seconds from Ctrl-C to the end: {times}"
        with two_ranks() as (waiting, _):
            seconds, text = interrupted(waiting)
            times.append(seconds)
        if waiting.returncode == -signal.SIGINT:  # the rank had not reached the wait yet
            times[-1] = 2.0
            continue
        assert waiting.returncode == 130
        assert text.endswith(f"{SUM} (number 2 of group world) was interrupted\n")
