# SPDX-License-Identifier: Apache-2.0
"""Rank and device of a process, and errors if oneCCL or a rank is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dpctl
import linked_venv
import pytest
from rank_jobs import PROGRAMS, ROOT, environment, free_port, needs_oneccl

from sycl_dnn.device import usable_devices
from sycl_dnn.distributed import group, oneccl_library
from sycl_dnn.distributed.rank_environment import DEFAULT_PORT, read_environment


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (0, 1, 0, "127.0.0.1", DEFAULT_PORT)),
        (
            {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "a",
             "MASTER_PORT": "7"},
            (1, 4, 1, "a", 7),
        ),
        (
            {"RANK": "1", "WORLD_SIZE": "4", "MASTER_PORT": "7", "TORCHELASTIC_RUN_ID": "x"},
            (1, 4, None, "127.0.0.1", 8),
        ),
        ({"PMI_RANK": "2", "PMI_SIZE": "3"}, (2, 3, None, "127.0.0.1", DEFAULT_PORT)),
        (
            {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3",
             "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
            (2, 3, 0, "127.0.0.1", DEFAULT_PORT),
        ),
        (
            {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1",
             "SLURM_JOB_ID": "120007", "SLURM_JOB_NODELIST": "node[03-05,9],other"},
            (5, 8, 1, "node03", DEFAULT_PORT + 7),
        ),
    ],
)  # fmt: skip
def test_rank_and_size_from_launcher_variables(variables, expected):
    actual = read_environment(variables)
    assert (actual.rank, actual.size, actual.local_rank, actual.address, actual.port) == expected


#: Variables of Slurm 22.05 in a batch script of two tasks, and in the tasks that srun starts.
BATCH = {
    "ENVIRONMENT": "BATCH", "SLURM_GTIDS": "0", "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "one",
    "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_NPROCS": "2", "SLURM_NTASKS": "2",
    "SLURM_PROCID": "0", "SLURM_TASKS_PER_NODE": "2", "SLURM_TASK_PID": "29392",
}  # fmt: skip
STEP = {"SLURM_STEPID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
#: Of a shell of one task, from which a job was submitted; of the shell of salloc.
ONE_TASK = STEP | {"SLURM_STEP_NUM_TASKS": "1"}
SALLOC = ONE_TASK | {"SLURM_STEPID": "4294967290", "SLURM_STEP_ID": "4294967290"}


@pytest.mark.parametrize("variables", [BATCH, BATCH | ONE_TASK, BATCH | SALLOC])
def test_a_batch_script_without_srun_is_refused(variables):
    with pytest.raises(RuntimeError, match="job has 2 tasks .* none of them .* with srun"):
        read_environment(variables)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (BATCH | STEP, (0, 2)),
        (BATCH | STEP | {"SLURM_PROCID": "1", "SLURM_LOCALID": "1"}, (1, 2)),
        (BATCH | {"SLURM_NTASKS": "1", "SLURM_NPROCS": "1"}, (0, 1)),
        (BATCH | SALLOC | {"ENVIRONMENT": ""}, (0, 1)),
        (BATCH | {"RANK": "1", "WORLD_SIZE": "3"}, (1, 3)),
        (BATCH | ONE_TASK | {"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
    ],
)
def test_ranks_inside_a_batch_job(variables, expected):
    actual = read_environment(variables)
    assert (actual.rank, actual.size) == expected


def test_invalid_variables_are_named():
    with pytest.raises(ValueError, match="RANK must be below WORLD_SIZE, got 2 and 2"):
        read_environment({"RANK": "2", "WORLD_SIZE": "2"})
    with pytest.raises(ValueError, match="WORLD_SIZE must be a number, got 'two'"):
        read_environment({"RANK": "0", "WORLD_SIZE": "two"})


def test_invalid_arguments_are_named():
    with pytest.raises(ValueError, match="checking must be one of always, first, never"):
        group._joined(1.0, "sometimes", None)
    with pytest.raises(ValueError, match="timeout must be positive"):
        group._joined(0.0, None, None)


@pytest.fixture(scope="module")
def no_oneccl(tmp_path_factory):
    """Return the interpreter of an environment without oneCCL and its MPI."""
    site = linked_venv.make(tmp_path_factory.mktemp("no_oneccl"), ("oneccl", "impi", "libccl"))
    linked_venv.copy_sources(site)
    linked_venv.install_extension(site)
    return linked_venv.python(site)


def run_without(python, tmp_path, *arguments, **variables):
    provided = environment(**variables) | {"PYTHONPATH": ""}
    return subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, timeout=600, env=provided,
        cwd=tmp_path,
    )  # fmt: skip


@pytest.mark.slow
def test_one_rank_does_not_need_oneccl(no_oneccl, tmp_path):
    code = """
import importlib.metadata
import dpnp
from sycl_dnn import distributed as dist
group = dist.init()
print(*(d.name for d in importlib.metadata.distributions() if "ccl" in d.name))
print(group.size, dist.all_reduce(dpnp.ones(2, sycl_queue=group.queue)).tolist())
"""
    done = run_without(no_oneccl, tmp_path, "-c", code)
    assert (done.returncode, done.stdout) == (0, "\n1 [1.0, 1.0]\n"), done.stderr


@pytest.mark.slow
def test_several_ranks_without_oneccl_say_what_to_install(no_oneccl, tmp_path):
    words = "several ranks need oneCCL, which is not installed; type: " + oneccl_library.INSTALL
    # It must fail before waiting for rank 0, which is not running.
    code = "import sycl_dnn.distributed as dist; dist.init(timeout=600)"
    done = run_without(no_oneccl, tmp_path, "-c", code, RANK="1", WORLD_SIZE="2")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(words)
    program = str(PROGRAMS / "started.py")
    done = run_without(no_oneccl, tmp_path, "-m", "sycl_dnn", "launch", "-n", "2", program)
    assert done.returncode == 1
    assert words in done.stderr


@needs_oneccl
def test_package_metadata_without_the_library_counts_as_not_installed(tmp_path):
    site = linked_venv.make(tmp_path / "venv", ("libccl",))
    linked_venv.copy_sources(site)
    linked_venv.install_extension(site)
    code = """
import importlib.metadata
from sycl_dnn.distributed import oneccl_library
print(importlib.metadata.version("oneccl"))
oneccl_library.open_oneccl(False)
"""
    done = run_without(linked_venv.python(site), tmp_path, "-c", code)
    assert done.stdout.startswith("2022.1")
    assert "NoOneCcl: several ranks need oneCCL, which is not installed" in done.stderr


def test_each_rank_selects_a_device_that_oneccl_supports():
    gpus = [d for d in usable_devices("gpu") if d.backend == dpctl.backend_type.level_zero]
    for rank in range(3):
        device = group._queue_of_rank(rank, None).sycl_device
        assert device == gpus[rank % len(gpus)] if gpus else device.is_cpu
    assert group._queue_of_rank(0, "cpu").sycl_device.is_cpu


def mpirun():
    """Return the command of the MPI that pip installs with oneCCL."""
    found = Path(sys.executable).with_name("mpirun")
    if not found.exists():
        pytest.skip("impi-rt is not installed")
    return [str(found), "-n", "2", sys.executable]


def torchrun():
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@needs_oneccl
@pytest.mark.parametrize("launcher", [mpirun, pytest.param(torchrun, marks=pytest.mark.torch)])
def test_other_launchers_start_ranks(launcher):
    prefix = Path(sys.prefix)
    path = os.pathsep.join([str(prefix / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        [*launcher(), str(PROGRAMS / "started.py")], capture_output=True, text=True, timeout=600,
        env=environment(I_MPI_ROOT=str(prefix), PATH=path), cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("rank ")]
    assert sorted(lines) == [f"rank {r}, {r} here, of 2: [3, 3, 3]" for r in range(2)]


def without_network():
    """Return a command prefix that starts a program in its own network without a name server."""
    command = ["unshare", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("unshare --net is not there or not allowed")
    return command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "before"), [("0", list), ("1", list), ("1", without_network)], ids=["0", "1", "again"]
)
def test_a_host_that_cannot_be_resolved_is_named(rank, before):
    """The error must come before the timeout, whose message would differ."""
    start = "import sycl_dnn; sycl_dnn.distributed.init(timeout=120)"
    variables = {"MASTER_ADDR": "no-such-host.invalid", "MASTER_PORT": str(free_port())}
    done = subprocess.run(
        [*before(), sys.executable, "-c", start], capture_output=True, text=True, timeout=600,
        env=environment(RANK=rank, WORLD_SIZE="2", **variables), cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: the host of rank 0, 'no-such-host.invalid' (MASTER_ADDR")
    assert last.partition("cannot be resolved: ")[2], last


@pytest.mark.slow
def test_a_missing_rank_is_named():
    port = free_port()
    start = "import sycl_dnn; sycl_dnn.distributed.init(timeout=1.5)"
    variables = {"MASTER_PORT": str(port), "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "3"}
    for rank, words in (("0", "init: ranks 1, 2 did not come within 1.5 s"),
                        ("1", "rank 0 did not answer at 127.0.0.1")):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", start], env=environment(RANK=rank, **variables), cwd=ROOT,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 1
        assert words in done.stderr
