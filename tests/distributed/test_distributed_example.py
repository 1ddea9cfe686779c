# SPDX-License-Identifier: Apache-2.0
"""Examples under the launcher."""

import re
import subprocess
import sys

import pytest
from rank_jobs import ROOT, environment, needs_oneccl


def trained_by_two(name, folder, *options):
    """Return what an example prints, each line after the number of its rank."""
    example = ROOT / "examples" / f"{name}.py"
    command = [sys.executable, "-m", "sycl_dnn", "launch", "-n", "2", str(example)]
    done = subprocess.run(
        [*command, "--distributed", *options, "--no-check"],
        capture_output=True, text=True, timeout=900, cwd=folder, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_oneccl
def test_digits_are_learnt_by_two_ranks_with_the_state_in_parts(tmp_path):
    text = trained_by_two("train_digits_distributed", tmp_path, "--sharded", "--steps", "20")
    assert "[0] 2 ranks, loss " in text


@needs_oneccl
@pytest.mark.parametrize("name", ["vae", "lstm_sequence", "gpt_text", "diffusion_digits"])
def test_both_ranks_have_the_loss_of_all_rows(name, tmp_path):
    short = ["--letters", "5"] if name == "gpt_text" else []
    text = trained_by_two(name, tmp_path, "--steps", "3", *short)
    first = dict(
        re.findall(r"\[(\d)\] (?:loss|squared error|error of the noise)\D* ([\d.]+) to", text)
    )
    assert sorted(first) == ["0", "1"], text
    assert first["0"] == first["1"]
