# SPDX-License-Identifier: Apache-2.0
"""The program that generates any number of calls, in separate processes."""

from pathlib import Path

from fresh_process import run

PROGRAM = Path(__file__).with_name("run.py")


def test_program_generates_and_counts_calls(tmp_path):
    done = run(PROGRAM, "--calls", "20", "--seed", "3", "--kind", "desc", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 problems" in done.stdout
    assert "all " in done.stdout
