# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine: its own controller, and two daemons that pretend to be hosts."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "scontrol", "scancel")
_SYSTEM_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

#: The second host is another name of this machine that is never resolved: rank 0 is on the first.
#: Requeued jobs wait until their credentials expire, two minutes by default.
_SETTINGS = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cores}
NodeName={host}-b NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cores}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=60 OverSubscribe=YES
"""


def needed_programs():
    """Return the paths of Slurm's programs by their names."""
    result = {name: shutil.which(name, path=_SYSTEM_PATH) for name in PROGRAMS}
    if missing := [name for name, path in result.items() if path is None]:
        pytest.skip(f"not installed: {', '.join(missing)} (slurmctld, slurmd, slurm-client, munge)")
    if os.getuid():
        pytest.skip("Slurm's daemons are started by root alone")
    return result


def free_ports(number):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextlib.contextmanager
def slurm_cluster(folder):
    """Run a cluster of two hosts; yield the variables with which Slurm's commands find it."""
    programs, host = needed_programs(), socket.gethostname().partition(".")[0]
    settings = folder / "slurm.conf"
    settings.write_text(
        _SETTINGS.format(folder=folder, host=host, ports=free_ports(3), cores=os.cpu_count())
    )
    (folder / "cgroup.conf").touch()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", f"spool.{host}", f"spool.{host}-b"):
        (folder / name).mkdir()
    provided = {"key": "key-file", "socket": "socket", "pid": "pid-file", "seed": "seed-file"}
    files = [f"--{option}={folder}/munge.{name}" for name, option in provided.items()]
    files.append(f"--log-file={folder}/munge.log")
    with contextlib.ExitStack() as stack:
        # A forced one accepts a folder that others may not enter.
        _start(stack, folder, [programs["munged"], "--foreground", "--force", *files])
        _start(stack, folder, [programs["slurmctld"], "-D", "-f", str(settings)])
        for name in (host, f"{host}-b"):
            _start(stack, folder, [programs["slurmd"], "-D", "-N", name, "-f", str(settings)])
        variables = {"SLURM_CONF": str(settings)}
        _wait_until_idle(programs["sinfo"], variables, folder)
        yield variables


def _start(stack, folder, command):
    """Start a daemon that ends with the stack."""
    with open(folder / "log", "a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    stack.callback(process.wait, 600)
    stack.callback(process.terminate)


def _wait_until_idle(sinfo, variables, folder):
    """Wait until both hosts accept jobs."""
    command, end = [sinfo, "--noheader", "--states=idle", "--format=%D"], time.monotonic() + 120
    while True:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, env=os.environ | variables
        )
        if done.stdout.split() == ["2"]:
            return
        if time.monotonic() > end:
            raise RuntimeError(f"no two idle hosts:\n{done.stderr}{(folder / 'log').read_text()}")
        time.sleep(0.2)
