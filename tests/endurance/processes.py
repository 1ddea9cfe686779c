# SPDX-License-Identifier: Apache-2.0
"""Programs of this folder in separate processes."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
#: Seconds after which a process counts as hanging; a starved one needs hundreds.
LONGEST = 900


def lines_of(program, *arguments, longest=LONGEST):
    """Run the module of that name; return its lines. It must exit cleanly and without errors."""
    done = subprocess.run(
        [sys.executable, "-m", f"endurance.{program}", *map(str, arguments)],
        cwd=TESTS, capture_output=True, text=True, timeout=longest,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stderr == ""
    return done.stdout.splitlines()
