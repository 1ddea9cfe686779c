# SPDX-License-Identifier: Apache-2.0
"""The launcher: output, status, cores, restarts, and that no process is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rank_jobs import ROOT, environment

from sycl_dnn.tools.launch.command import main
from sycl_dnn.tools.launch.rank_processes import cores_of

LAUNCH = [sys.executable, "-m", "sycl_dnn", "launch"]


def started(tmp_path, program, *options, **more):
    path = tmp_path / "program.py"
    path.write_text(program)
    return subprocess.Popen(
        [*LAUNCH, *options, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(**more), cwd=ROOT, start_new_session=True,
    )  # fmt: skip


def run(tmp_path, program, *options, **more):
    process = started(tmp_path, program, *options, **more)
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def is_there(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


SAYS = """
import os
names = "RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR".split()
print(*(os.environ[n] for n in names), len(os.sched_getaffinity(0)))
"""


@pytest.mark.slow
def test_ranks_know_themselves_and_have_their_cores(tmp_path):
    status, out, err = run(tmp_path, SAYS, "-n", "2")
    each = max(1, len(os.sched_getaffinity(0)) // 2)
    assert (status, err) == (0, "")
    assert sorted(out.splitlines()) == [f"[{r}] {r} 2 {r} 127.0.0.1 {each}" for r in range(2)]


@pytest.mark.slow
def test_threads_are_divided_unless_the_user_has_set_them(tmp_path):
    program = 'import os; print(os.environ["OMP_NUM_THREADS"], os.environ["DPCPP_CPU_NUM_CUS"])'
    status, out, _ = run(tmp_path, program, "-n", "2", OMP_NUM_THREADS="7")
    each = max(1, len(os.sched_getaffinity(0)) // 2)
    assert (status, sorted(out.splitlines())) == (0, [f"[{r}] 7 {each}" for r in range(2)])


@pytest.mark.slow
def test_one_host_of_several(tmp_path):
    options = ["-n", "1", "--nodes", "3", "--node-rank", "2", "--no-prefix"]
    address = ["--master-addr", "first", "--master-port", "9"]
    status, out, _ = run(tmp_path, SAYS, *options, *address)
    assert (status, out[:11]) == (0, "2 3 0 first")


@pytest.mark.parametrize(
    ("local_rank", "ranks", "cores", "expected"),
    [(0, 1, [0, 1], [0, 1]), (1, 2, [4, 5, 6], [6]), (0, 2, [4, 5, 6], [4, 5]), (3, 4, [7], [7])],
)
def test_cores_are_divided(local_rank, ranks, cores, expected):
    assert cores_of(local_rank, ranks, cores) == expected


FAILS = """
import os, subprocess, sys, threading
child = subprocess.Popen(["sleep", "1000"])
print(os.getpid(), child.pid, flush=True)
if os.environ["RANK"] == "1":
    print("the reason", file=sys.stderr)
    sys.exit(7)
threading.Event().wait()
"""


@pytest.mark.slow
def test_a_failing_rank_ends_all_and_determines_the_status(tmp_path):
    status, out, err = run(tmp_path, FAILS, "-n", "2")
    assert status == 7
    assert err.splitlines()[-1] == "launch: rank 1 ended with 7: the reason"
    pids = [int(word) for line in out.splitlines() for word in line.split()[1:]]
    assert len(pids) == 4
    assert not [pid for pid in pids if is_there(pid)]


@pytest.fixture
def remote_shell(tmp_path):
    """Return a command in the place of ssh: what comes after the host runs here."""
    path = tmp_path / "shell"
    path.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
def test_several_hosts_by_their_names(tmp_path, remote_shell):
    hosts = ["--hosts", "someone@localhost,127.0.0.1", "--remote-shell", remote_shell]
    status, out, err = run(tmp_path, SAYS, "-n", "1", *hosts)
    assert (status, err) == (0, "")
    cores = len(os.sched_getaffinity(0))
    assert sorted(out.splitlines()) == [f"[{r}] {r} 2 0 localhost {cores}" for r in range(2)]


@pytest.mark.slow
def test_a_host_that_fails_ends_the_others(tmp_path, remote_shell):
    hosts = ["--hosts", "localhost,127.0.0.1", "--remote-shell", remote_shell]
    status, out, err = run(tmp_path, FAILS, "-n", "1", *hosts)
    assert status == 7
    assert "launch: host 127.0.0.1 ended with 7" in err
    pids = [int(word) for line in out.splitlines() for word in line.split()[1:]]
    assert len(pids) == 4
    assert not [pid for pid in pids if is_there(pid)]


WAITS = """
import os, threading
print(os.getpid(), flush=True)
threading.Event().wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_launcher_that_is_ended_leaves_no_process(tmp_path, number, status):
    process = started(tmp_path, WAITS, "-n", "2")
    pids = [int(process.stdout.readline().split()[1]) for _ in range(2)]
    process.send_signal(number)
    process.communicate(timeout=600)
    assert process.returncode == status
    for pid in pids:  # the kernel ends a killed launcher's processes at some later time
        subprocess.run(["tail", "--pid", str(pid), "-f", "/dev/null"], timeout=600, check=True)


WARNED = """
import os, signal, subprocess, sys, threading
def stop(number, frame):
    print("warned", signal.Signals(number).name, child.poll(), flush=True)
    child.kill()
    sys.exit(75)
child = subprocess.Popen(["sleep", "1000"])
for number in (signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, stop)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
@pytest.mark.parametrize("hosts", [1, 2])
def test_warnings_of_schedulers_reach_the_ranks_which_are_not_restarted(
    tmp_path, number, hosts, remote_shell
):
    options = ["-n", "2", "--max-restarts", "3"]
    if hosts == 2:
        options = ["-n", "1", "--hosts", "localhost,127.0.0.1", "--remote-shell", remote_shell]
    process = started(tmp_path, WARNED, *options)
    assert sorted(process.stdout.readline() for _ in range(2)) == ["[0] ready\n", "[1] ready\n"]
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 75, err
    assert sorted(out.splitlines()) == [f"[{r}] warned {number.name} None" for r in range(2)]
    assert "start 2" not in err


AGAIN = """
import os, sys
count = len(open("{path}").read()) if os.path.exists("{path}") else 0
open("{path}", "a").write("x")
sys.exit(count < 2)
"""


@pytest.mark.slow
def test_a_job_is_started_again(tmp_path):
    program = AGAIN.format(path=tmp_path / "count")
    status, _, err = run(tmp_path, program, "-n", "1", "--max-restarts", "3")
    assert status == 0
    assert "start 3 of 4" in err
    assert "start 4 of 4" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "0", "x.py"], "-n must be at least 1, got 0"),
        (["none.py"], "there is no file none.py"),
        (["--nodes", "2", "--node-rank", "2", "x.py"], "--node-rank must be below --nodes 2"),
        (["--nodes", "2", "-m", "x"], "need --master-addr"),
    ],
)
def test_wrong_options_are_named(arguments, words, capsys, monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
