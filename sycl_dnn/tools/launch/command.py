# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn launch``: command-line options and exit status."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from functools import partial
from pathlib import Path

from sycl_dnn.tools.launch.rank_processes import Layout, run_job
from sycl_dnn.tools.launch.remote_hosts import end_with_input, run_on_hosts

_DESCRIPTION = """\
Start a Python program several times, as the ranks of sycl_dnn.distributed:

  python -m sycl_dnn launch -n 4 train.py --epochs 3
  python -m sycl_dnn launch -n 4 -m package.train
  python -m sycl_dnn launch -n 8 --hosts node01,node02 train.py
  python -m sycl_dnn launch -n 8 --nodes 2 --node-rank 1 --master-addr node01 train.py

Each rank gets its share of the cores, and its lines of output begin with its number. When one ends
with an error all are ended, and its status is returned: that of the first, 128 + n for signal n,
130 for Ctrl-C. No process is left. SIGUSR1 and SIGUSR2 are passed on to the ranks. They are not
restarted after 75, by which a program that a scheduler has warned says that steps are left.
"""
#: Exit statuses after which ranks are not restarted: success, resubmission, interruption.
_FINAL = (0, 75, 130, 143)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options before the program."""
    result = argparse.ArgumentParser(
        prog="python -m sycl_dnn launch",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = result.add_argument
    add("-n", "--ranks", type=int, default=1, metavar="N", help="ranks on this host (1)")
    add("--nodes", type=int, default=1, metavar="N", help="hosts, each with its launcher (1)")
    add("--node-rank", type=int, default=0, metavar="I", help="which of the hosts this is (0)")
    add("--hosts", type=_names, metavar="A,B", help="start a launcher on each host by ssh")
    add("--remote-shell", default="ssh -o BatchMode=yes", metavar="COMMAND",
        help="takes a host and a line for its shell (%(default)s)")  # fmt: skip
    add("--end-with-input", action="store_true", help="end when standard input does")
    add("--master-addr", metavar="HOST", help="where rank 0 is (MASTER_ADDR, or this host)")
    add("--master-port", type=int, metavar="P", help="its port (MASTER_PORT, or a free one)")
    add("--max-restarts", type=int, default=0, metavar="N", help="restart at most this often (0)")
    add("--no-pin", action="store_true", help="let all ranks use all cores")
    add("--no-prefix", action="store_true", help="leave the lines of output unchanged")
    add("-m", dest="module", action="store_true", help="the program is the name of a module")
    add("program", help="a Python file")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return result


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def _checked(options: argparse.Namespace, error: argparse.ArgumentParser) -> Layout:
    if options.ranks < 1:
        error.error(f"-n must be at least 1, got {options.ranks}")
    if not 0 <= options.node_rank < options.nodes:
        error.error(f"--node-rank must be below --nodes {options.nodes}, got {options.node_rank}")
    if not options.module and not Path(options.program).is_file():
        error.error(f"there is no file {options.program}")
    address = options.master_addr or os.environ.get("MASTER_ADDR")
    port = options.master_port or int(os.environ.get("MASTER_PORT") or 0)
    if options.hosts and options.nodes > 1:
        error.error("--hosts says how many hosts there are; leave --nodes out")
    if options.nodes > 1 and not (address and port):
        error.error("several hosts need --master-addr and --master-port")
    return Layout(
        options.ranks, options.nodes, options.node_rank, address or "127.0.0.1",
        port or _free_port(), not options.no_pin, not options.no_prefix,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run a job; return its exit status.

    Examples
    --------
    >>> from sycl_dnn.tools.launch.command import main
    >>> main(["-n", "2", "train.py"])  # doctest: +SKIP
    0
    """
    reader = parser()
    options = reader.parse_args(arguments)
    layout = _checked(options, reader)
    target = ["-m", options.program] if options.module else [options.program]
    run = partial(run_job, [sys.executable, *target, *options.arguments], layout)
    if options.hosts:
        remote_options = ["-n", str(layout.ranks)]
        remote_options += ["--no-pin"] * options.no_pin + ["--no-prefix"] * options.no_prefix
        run = partial(
            run_on_hosts, options.hosts, options.remote_shell, layout.port, remote_options,
            [*target, *options.arguments],
        )  # fmt: skip
    if options.end_with_input:
        end_with_input()
    status = run()
    for number in range(options.max_restarts):
        if status in _FINAL:
            break
        print(
            f"launch: ended with {status}; start {number + 2} of {options.max_restarts + 1}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        status = run()
    return status
