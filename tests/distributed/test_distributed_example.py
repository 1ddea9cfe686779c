# SPDX-License-Identifier: Apache-2.0
"""The example under the launcher, with the state in parts."""

import subprocess
import sys

from rank_jobs import ROOT, environment, needs_oneccl


@needs_oneccl
def test_digits_are_learnt_by_two_ranks(tmp_path):
    example = ROOT / "examples" / "train_digits_distributed.py"
    done = subprocess.run(
        [sys.executable, "-m", "sycl_dnn", "launch", "-n", "2", str(example), "--distributed",
         "--sharded", "--steps", "20", "--no-check"],
        capture_output=True, text=True, timeout=900, cwd=tmp_path, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[0] 2 ranks, loss " in done.stdout
