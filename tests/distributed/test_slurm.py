# SPDX-License-Identifier: Apache-2.0
"""Jobs of two ranks by Slurm: ``srun``, and the batch scripts of examples/batch by ``sbatch``."""

import re
import subprocess
import sys
import time

import pytest
from rank_jobs import HAS_ONECCL, PROGRAMS, ROOT, environment
from slurm_cluster import slurm_cluster

pytestmark = [pytest.mark.slow, HAS_ONECCL]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return the environment with which Slurm's commands find two hosts."""
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as found:
        yield found


def run(command, variables, **more):
    """Run a Slurm command; return its output."""
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


def submit(cluster, log, script, *words, asked=(), before=(), **more):
    """Submit a batch job; return its number."""
    command = [*before, "sbatch", "--parsable", "--output", log, *asked]
    job = run([*command, ROOT / "examples" / "batch" / script, *words], cluster, **more)
    return job.strip()


def wait_for(found, what):
    """Wait until a function returns a true value; return it."""
    end = time.monotonic() + 900
    # `sbatch --wait` polls the controller at growing intervals.
    while not (result := found()):
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.2)
    return result


def ended(cluster, job):
    """Return the final states of a job, or of each job of an array."""
    unfinished = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED"}

    def states():
        found = re.findall(r"JobState=(\w+)", run(["scontrol", "show", "job", job], cluster))
        return None if unfinished & set(found) else found

    return wait_for(states, f"end of job {job}")


def submitted(cluster, log, script, *words, ends="COMPLETED", **more):
    """Wait for a batch job's end; return its output."""
    states = ended(cluster, submit(cluster, log, script, *words, **more))
    text = log.read_text()
    assert states == [ends], text
    return text


#: Overrides for resources that the script requests and the hosts here lack.
ONE_HOST = ["--cpus-per-task=1", "--gres=none"]


def test_a_batch_job_of_one_host(cluster, tmp_path):
    text = submitted(
        cluster, tmp_path / "log", "train_digits.slurm", "resume.py", "--steps", 2, "--device",
        "cpu", asked=ONE_HOST, VENV=sys.prefix,
    )  # fmt: skip
    assert "device: CPU" in text


def test_a_batch_job_of_two_hosts(cluster, tmp_path):
    text = submitted(
        cluster, tmp_path / "log", "train_nodes.slurm", "train_digits_distributed.py", "--sharded",
        "--steps", 20, "--no-check", PYTHON=sys.executable, RANKS="1",
    )  # fmt: skip
    assert "[0] 2 ranks, loss " in text


def test_each_job_of_an_array_runs_its_line(cluster, tmp_path):
    tasks, folder = tmp_path / "tasks", tmp_path / "%a"
    line = f"resume.py --steps {{0}} --checkpoint {tmp_path}/{{0}}.npz --device cpu\n"
    tasks.write_text(line.format(3) + line.format(4))
    asked = [*ONE_HOST, "--array=1-2"]
    job = submit(
        cluster, folder, "train_digits.slurm", asked=asked, VENV=sys.prefix, TASKS=str(tasks)
    )
    assert ended(cluster, job) == ["COMPLETED", "COMPLETED"]
    for task, steps in ((1, 3), (2, 4)):
        text = (tmp_path / str(task)).read_text()
        assert f"task {task} on " in text
        assert f"step {steps}: loss " in text


#: To the batch script, as `--signal=B:USR1` does, or to the launchers on the hosts.
WARNINGS = [("train_digits.slurm", ["--batch"], ONE_HOST), ("train_nodes.slurm", [], [])]


@pytest.mark.parametrize(("script", "to", "asked"), WARNINGS)
def test_a_job_near_its_time_limit_is_requeued_and_resumes(cluster, tmp_path, script, to, asked):
    log = tmp_path / "log"
    more = ["--device", "cpu"] if to else []  # several ranks have one each
    whole = 1000  # more than a job can do before the warning
    job = submit(
        cluster, log, script, "resume.py", "--steps", whole,
        "--checkpoint", tmp_path / "file.npz", *more,
        asked=asked, VENV=sys.prefix, PYTHON=sys.executable, RANKS="1",
    )  # fmt: skip
    wait_for(lambda: log.exists() and f"from step 0 of {whole}" in log.read_text(), "first step")
    run(["scancel", *to, "--signal=USR1", job], cluster)
    states, text = ended(cluster, job), log.read_text()
    assert states == ["COMPLETED"], text
    (left,) = set(re.findall(r"USR1: (\d+) steps are left", text))
    assert f"from step {whole - int(left)} of {whole}" in text
    assert f"step {whole}: loss " in text
    assert "Restarts=1" in run(["scontrol", "show", "job", job], cluster)


#: As in a shell on a compute node; the job inherits its variables.
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


def test_a_salloc_shell_is_a_group_of_one(cluster):
    shell = ["salloc", "--immediate=600", "-n", "2", "srun", "--interactive", "--preserve-env"]
    text = run([*shell, sys.executable, PROGRAMS / "started.py"], cluster)
    assert "rank 0, 0 here, of 1: [1, 1, 1]" in text
