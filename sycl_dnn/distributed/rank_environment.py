# SPDX-License-Identifier: Apache-2.0
"""Rank, number of ranks and rendezvous address, from the launcher's environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: Each launcher's variables for rank, number of ranks and local rank; the first set one wins.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
DEFAULT_PORT = 29511
#: SLURM_STEP_ID of the shell that ``salloc`` opens on the first host.
_INTERACTIVE_STEP = "4294967290"


@dataclass(frozen=True)
class RankEnvironment:
    """The settings of the launcher; ``local_rank`` is None if it is not set."""

    rank: int
    size: int
    local_rank: int | None
    address: str
    port: int


def read_environment(variables: Mapping[str, str] | None = None) -> RankEnvironment:
    """Read the launcher's variables; without a launcher, rank 0 of 1.

    ``variables``: ``os.environ`` by default. Raises RuntimeError if a Slurm batch script started
    this process without ``srun``, and ValueError if a variable is not a number, or the rank is not
    less than the number of ranks.
    """
    environment = os.environ if variables is None else variables
    for names in _LAUNCHERS:
        if names[0] in environment and names[1] in environment:
            rank, size = (_number(environment, name) for name in names[:2])
            local = _number(environment, names[2]) if names[2] in environment else None
            break
    else:
        rank, size, local = 0, 1, 0
    if names[0] == "SLURM_PROCID" and size > 1 and not _is_task(environment):
        rank, size, local = _outside_of_steps(environment)
    if not 0 <= rank < size:
        raise ValueError(f"init: {names[0]} must be below {names[1]}, got {rank} and {size}")
    return RankEnvironment(rank, size, local, *_master(environment))


def _is_task(environment: Mapping[str, str]) -> bool:
    """Whether ``srun`` started this process.

    Batch scripts have SLURM_PROCID too, and one submitted from a task inherits the step's
    variables.
    """
    if environment["SLURM_PROCID"] != "0":
        return True
    return environment.get("SLURM_STEP_NUM_TASKS") == environment["SLURM_NTASKS"]


def _outside_of_steps(environment: Mapping[str, str]) -> tuple[int, int, int]:
    """Return the rank of a process in a shell of ``salloc``; raise in a batch script."""
    if (
        environment.get("SLURM_STEP_ID") == _INTERACTIVE_STEP
        and environment.get("ENVIRONMENT") != "BATCH"
    ):
        return 0, 1, 0
    tasks = environment["SLURM_NTASKS"]
    raise RuntimeError(
        f"init: the batch script's job has {tasks} tasks (SLURM_NTASKS), and this process is none "
        f"of them (SLURM_STEP_NUM_TASKS is {environment.get('SLURM_STEP_NUM_TASKS', 'not set')}): "
        "start it with srun, or with srun -n 1 for a group of one"
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(f"init: {name} must be a number, got {environment[name]!r}") from None


def _master(environment: Mapping[str, str]) -> tuple[str, int]:
    address = environment.get("MASTER_ADDR") or _first_host(
        environment.get("SLURM_JOB_NODELIST", "")
    )
    if "MASTER_PORT" in environment:
        # torchrun itself listens on MASTER_PORT.
        return address, _number(environment, "MASTER_PORT") + ("TORCHELASTIC_RUN_ID" in environment)
    job = environment.get("SLURM_JOB_ID") or environment.get("PBS_JOBID") or "0"
    digits = re.match(r"\d+", job)
    return address, DEFAULT_PORT + (int(digits[0]) if digits else 0) % 1000


def _first_host(nodes: str) -> str:
    """Return the first host of a Slurm list such as ``node[03-05,9],other``."""
    match = re.match(r"([^,\[]+)(?:\[(\w+))?", nodes)
    return match[1] + (match[2] or "") if match else "127.0.0.1"
