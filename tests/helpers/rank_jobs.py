# SPDX-License-Identifier: Apache-2.0
"""Start the programs of tests/helpers/ranks as the ranks of a job."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sycl_dnn.distributed.oneccl_library import is_installed

PROGRAMS = Path(__file__).parent / "ranks"
ROOT = Path(__file__).parents[2]
#: oneCCL's messages about its variables at start, and about how CPUs without bfloat16 compute.
_WARNINGS = re.compile(r"^.*\|CCL_WARN\|.*\n|^.*FallbackWarning: .*\n\[\d+\]   .*\n", re.MULTILINE)
HAS_ONECCL = pytest.mark.skipif(not is_installed(), reason="oneccl is not installed")


def needs_oneccl(test):
    """Mark a test that starts several ranks, which takes seconds."""
    return pytest.mark.slow(HAS_ONECCL(test))


def environment(**variables):
    """Return the variables of a launcher's process: only the CPU, and the helpers on the path."""
    path = [str(ROOT), str(ROOT / "tests" / "helpers"), os.environ.get("PYTHONPATH", "")]
    made = {n: v for n, v in os.environ.items() if n not in ("RANK", "WORLD_SIZE")}
    made |= {"ONEAPI_DEVICE_SELECTOR": "opencl:cpu", "PYTHONPATH": os.pathsep.join(path)}
    return made | variables


def free_port():
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch_command(ranks, program, *arguments, options=()):
    """Return the command that starts a program of tests/helpers/ranks."""
    start = [sys.executable, "-m", "sycl_dnn", "launch", "-n", str(ranks), *options]
    return [*start, str(PROGRAMS / program), *map(str, arguments)]


def run_ranks(ranks, program, *arguments, options=(), status=0, **variables):
    """Run a program to its end; return its lines of output, then those of errors."""
    done = subprocess.run(
        launch_command(ranks, program, *arguments, options=options),
        capture_output=True, text=True, timeout=900, cwd=ROOT, env=environment(**variables),
    )  # fmt: skip
    text = done.stdout + done.stderr
    assert done.returncode == status, f"ended with {done.returncode}\n{text}"
    return _WARNINGS.sub("", text).splitlines()
