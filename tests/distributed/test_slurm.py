# SPDX-License-Identifier: Apache-2.0
"""Jobs of two ranks by Slurm: ``srun``, and the batch scripts of examples/batch by ``sbatch``."""

import re
import subprocess
import sys
import time

import pytest
from rank_jobs import PROGRAMS, ROOT, environment, needs_oneccl
from slurm_cluster import slurm_cluster

pytestmark = needs_oneccl


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return the variables by which Slurm's commands find two hosts."""
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as found:
        yield found


def run(command, variables, **more):
    """Run a command of Slurm to its end; return what it says."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=900, cwd=ROOT,
        env=environment(**variables, **more),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("hosts", [1, 2])
def test_srun_starts_ranks(cluster, hosts):
    command = ["srun", "--immediate=600", "-N", hosts, "-n", 2, sys.executable]
    text = run([*command, PROGRAMS / "started.py"], cluster)
    lines = [line for line in text.splitlines() if "here, of" in line]
    local = {1: [0, 1], 2: [0, 0]}[hosts]
    assert sorted(lines) == [f"rank {r}, {local[r]} here, of 2: [3, 3, 3]" for r in range(2)]


def submitted(cluster, log, script, *words, asked=(), before=(), ends="COMPLETED", **more):
    """Wait for a batch job's end; return its output."""
    command = [*before, "sbatch", "--parsable", "--output", log, *asked]
    job = run([*command, ROOT / "examples" / "batch" / script, *words], cluster, **more)
    end = time.monotonic() + 900
    # `sbatch --wait` asks the controller more and more seldom.
    while (state := state_of(job.strip(), cluster)) in ("PENDING", "CONFIGURING", "RUNNING",
                                                        "COMPLETING"):  # fmt: skip
        assert time.monotonic() < end, f"the job is {state}"
        time.sleep(0.2)
    text = log.read_text()
    assert state == ends, text
    return text


def state_of(job, cluster):
    return re.search(r"JobState=(\w+)", run(["scontrol", "show", "job", job], cluster))[1]


def test_a_batch_job_of_one_host(cluster, tmp_path):
    asked = ["--cpus-per-task=1", "--gres=none"]  # what the script asks for is not here
    text = submitted(
        cluster, tmp_path / "log", "train_digits.slurm", "resume.py", "--steps", 2, "--device",
        "cpu", asked=asked, VENV=sys.prefix,
    )  # fmt: skip
    assert "device: CPU" in text


def test_a_batch_job_of_two_hosts(cluster, tmp_path):
    text = submitted(
        cluster, tmp_path / "log", "train_nodes.slurm", "train_digits_distributed.py", "--sharded",
        "--steps", 20, "--no-check", PYTHON=sys.executable, RANKS="1",
    )  # fmt: skip
    assert "[0] 2 ranks, loss " in text


#: As in a shell on a compute node, whose variables the job inherits.
IN_A_STEP = ["srun", "--immediate=600", "-n", "1"]


@pytest.mark.parametrize("before", [[], IN_A_STEP])
def test_a_batch_script_without_srun_says_so(cluster, tmp_path, before):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {PROGRAMS / 'started.py'}\n")
    text = submitted(
        cluster, tmp_path / "log", script, asked=["-n", "2"], before=before, ends="FAILED"
    )
    assert "job has 2 tasks (SLURM_NTASKS), and this process is none of them" in text
    assert "start it with srun" in text


def test_the_shell_of_salloc_is_a_group_of_one(cluster):
    shell = ["salloc", "--immediate=600", "-n", "2", "srun", "--interactive", "--preserve-env"]
    text = run([*shell, sys.executable, PROGRAMS / "started.py"], cluster)
    assert "rank 0, 0 here, of 1: [1, 1, 1]" in text
