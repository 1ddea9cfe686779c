# SPDX-License-Identifier: Apache-2.0
"""Programs of this folder in separate processes."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
#: Seconds after which a process counts as hanging; a starved one needs hundreds.
LONGEST = 900


def lines_of(program, *arguments, longest=LONGEST):
    """Run the module of that name; return its lines. It must exit cleanly and without errors."""
    return printed(ended(program, *arguments, longest=longest))


def lines_of_readers(program, *arguments, runs=3, repeat_hangs=True):
    """Like ``lines_of``, for threads that read results of one out-of-order queue.

    Intel's OpenCL runtime for CPUs ends some of such runs with SIGSEGV, or hangs, with dpnp alone
    too (``endurance.launches``, docs/execution.md). Such a run says nothing and is repeated.
    """
    repeated = (subprocess.TimeoutExpired,) if repeat_hangs else ()
    for _ in range(runs - 1):
        with contextlib.suppress(*repeated):
            done = ended(program, *arguments, longest=LONGEST // runs)
            if done.returncode != -signal.SIGSEGV:
                return printed(done)
    return lines_of(program, *arguments, longest=LONGEST // runs)


def ended(program, *arguments, longest):
    """Run the module of that name to its end."""
    return subprocess.run(
        [sys.executable, "-m", f"endurance.{program}", *map(str, arguments)],
        cwd=TESTS, capture_output=True, text=True, timeout=longest,
    )  # fmt: skip


def printed(done):
    """The lines of a process that exited cleanly and without errors."""
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stderr == ""
    return done.stdout.splitlines()
