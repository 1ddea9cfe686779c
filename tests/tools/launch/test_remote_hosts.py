# SPDX-License-Identifier: Apache-2.0
"""``launch --hosts`` by ssh: a server on this machine, which is two hosts to the launcher."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from rank_jobs import PROGRAMS, ROOT, environment, needs_oneccl
from ssh_server import ssh_server

from sycl_dnn.tools.launch.remote_hosts import address_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return the server's port and the command that connects to it."""
    with ssh_server(tmp_path_factory.mktemp("ssh")) as found:
        yield found


@contextlib.contextmanager
def started(server, *program):
    """Run a launcher for two hosts; end it if the test does not."""
    port, shell = server
    hosts = f"ssh://localhost:{port},ssh://127.0.0.1:{port}"
    command = [sys.executable, "-m", "sycl_dnn", "launch", "-n", "1", "--hosts", hosts]
    process = subprocess.Popen(
        [*command, "--remote-shell", shell, *map(str, program)], text=True, cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=600)


@needs_oneccl
def test_ranks_of_two_hosts_add_their_arrays(server):
    with started(server, PROGRAMS / "started.py") as process:
        out, err = process.communicate(timeout=600)
    assert process.returncode == 0, out + err
    lines = [line for line in out.splitlines() if "here, of" in line]
    assert sorted(lines) == [f"[{r}] rank {r}, 0 here, of 2: [3, 3, 3]" for r in range(2)]


SAYS_AND_WAITS = """
import os, sys, threading
print(os.getpid(), sys.argv[1:], os.environ.get("SSH_CONNECTION", "none").split()[0], flush=True)
if os.environ["RANK"] == FAILS:
    sys.exit(7)
threading.Event().wait()
"""


def of_ranks(lines):
    """Return the process of each rank; each was started through the server, with its arguments."""
    words = [line.strip().split(maxsplit=2) for line in lines]
    assert sorted((rank, rest) for rank, _, rest in words) == [
        (f"[{r}]", "['two words', \"$HOME's\"] 127.0.0.1") for r in range(2)
    ]
    return [int(pid) for _, pid, _ in words]


def wait_for_the_end_of(pids):
    for pid in pids:
        subprocess.run(["tail", "--pid", str(pid), "-f", os.devnull], timeout=600, check=True)


@pytest.mark.slow
def test_a_host_that_fails_ends_the_other(server, tmp_path):
    (tmp_path / "program.py").write_text(SAYS_AND_WAITS.replace("FAILS", "'1'"))
    with started(server, tmp_path / "program.py", "two words", "$HOME's") as process:
        out, err = process.communicate(timeout=600)
    assert process.returncode == 7, out + err
    assert "launch: host ssh://127.0.0.1:" in err
    wait_for_the_end_of(of_ranks(out.splitlines()))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_terminated_launcher_ends_its_ssh_processes(server, tmp_path, number, status):
    (tmp_path / "program.py").write_text(SAYS_AND_WAITS.replace("FAILS", "None"))
    with started(server, tmp_path / "program.py", "two words", "$HOME's") as process:
        pids = of_ranks([process.stdout.readline() for _ in range(2)])
        process.send_signal(number)
        process.communicate(timeout=600)
    assert process.returncode == status
    wait_for_the_end_of(pids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "expected"),
    [("node01", "node01"), ("someone@node01", "node01"), ("ssh://a@node01:22", "node01"),
     ("ssh://[::1]:22", "::1")],
)  # fmt: skip
def test_host_name_for_connections(host, expected):
    assert address_of(host) == expected
