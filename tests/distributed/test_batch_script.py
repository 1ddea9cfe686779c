# SPDX-License-Identifier: Apache-2.0
"""Arguments that examples/batch/job.sh passes to the next job; a PBS stub records them."""

import os
import shutil
import subprocess

import pytest
from rank_jobs import ROOT

#: In place of programs: qsub keeps its words, the example says what it has and stops with 75.
PROGRAMS = {
    "qsub": 'printf "%s\\n" "$@" > submitted',
    "module": 'echo "module $*"',
    "venv/bin/python": '[ "$1" = - ] || { echo "$* on $ONEAPI_DEVICE_SELECTOR"; exit 75; }',
}
SETTINGS = """\
MODULES="python/3.12 gcc/13"
QSUB="-l select=1:ncpus=2 -q gpu"
ONEAPI_DEVICE_SELECTOR="level_zero:0;opencl:cpu"
"""


@pytest.fixture
def folder(tmp_path):
    """Return a directory with the script and PROGRAMS."""
    shutil.copytree(ROOT / "examples" / "batch", tmp_path / "examples" / "batch")
    for name, line in PROGRAMS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o755)
    (tmp_path / "settings").write_text(SETTINGS)
    return tmp_path


def run_job(folder, number, *words, **variables):
    """Run a job of PBS; return its status and its lines."""
    unset = ("SLURM", "PBS", "TASK", "MODULES", "MINUTES", "AGAIN", "ONEAPI")
    provided = {n: v for n, v in os.environ.items() if not n.startswith(unset)}
    provided |= {"PATH": f"{folder}:{provided['PATH']}", "PBS_JOBID": f"{number}.server"}
    done = subprocess.run(
        ["examples/batch/job.sh", *words], capture_output=True, text=True, timeout=600, cwd=folder,
        env=provided | variables,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_resubmitted_job_keeps_settings_and_options(folder):
    words = ["resume.py", "--steps", "9"]
    provided = {"SETTINGS": "settings", "AGAIN": "2", "VENV": "venv"}
    for number in (1, 2):
        status, text = run_job(folder, number, *words, **provided)
        assert status == 0, text
        assert "module load python/3.12\nmodule load gcc/13\n" in text
        assert "examples/resume.py --steps 9 on level_zero:0;opencl:cpu\n" in text
        *options, script = (folder / "submitted").read_text().splitlines()
        assert options[:-1] == ["-l", "select=1:ncpus=2", "-q", "gpu", "-v"]
        assert script == "examples/batch/train_digits.pbs"
        assert " " not in options[-1]
        words, provided = [], dict(word.split("=") for word in options[-1].split(","))
    status, text = run_job(folder, 3, **provided)
    assert status == 75
    assert "steps are left after 0 more jobs" in text


def test_a_job_without_options_is_resubmitted_without_options(folder):
    status, text = run_job(folder, 1, "resume.py", VENV="venv")
    assert status == 0, text
    assert (
        (folder / "submitted").read_text().startswith("-v\nSETTINGS=logs/again-1.server.settings,")
    )
