# SPDX-License-Identifier: Apache-2.0
"""Start the programs of tests/helpers/ranks as a job, or run them in ranks that wait for them."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sycl_dnn._runtime import distribution_file

PROGRAMS = Path(__file__).parent / "ranks"
ROOT = Path(__file__).parents[2]
#: oneCCL's messages about its variables at start, and about how CPUs without bfloat16 compute.
_WARNINGS = re.compile(r"^.*\|CCL_WARN\|.*\n|^.*FallbackWarning: .*\n\[\d+\]   .*\n", re.MULTILINE)
HAS_ONECCL = pytest.mark.skipif(
    distribution_file("oneccl", "libccl.so.2") is None, reason="oneccl is not installed"
)


def needs_oneccl(test):
    """Mark a test that starts several ranks, which takes seconds."""
    return pytest.mark.slow(HAS_ONECCL(test))


def environment(**variables):
    """Return the variables of a launcher's process: only the CPU, and the helpers on the path."""
    path = [str(ROOT), str(ROOT / "tests" / "helpers"), os.environ.get("PYTHONPATH", "")]
    result = {n: v for n, v in os.environ.items() if n not in ("RANK", "WORLD_SIZE")}
    result |= {"ONEAPI_DEVICE_SELECTOR": "opencl:cpu", "PYTHONPATH": os.pathsep.join(path)}
    return result | variables


def free_port():
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


class Pool:
    """Ranks that run programs one after another; a program that fails there ends the pool."""

    def __init__(self, ranks):
        self._ranks, self._number = ranks, 0
        self._folder = Path(tempfile.mkdtemp())
        self._process = subprocess.Popen(
            launch_command(ranks, "pool.py", self._folder), cwd=ROOT, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def _give(self, job):
        result = self._folder / f"{self._number}.json"
        result.with_suffix(".part").write_text(json.dumps(job))
        result.with_suffix(".part").rename(result)

    def run(self, program, *arguments):
        """Run a program of tests/helpers/ranks; return the lines of all ranks."""
        self._give([str(PROGRAMS / program), [str(a) for a in arguments]])
        files = [self._folder / f"{self._number}.{rank}" for rank in range(self._ranks)]
        end = time.monotonic() + 900
        while not all(file.exists() for file in files):
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < end, f"{program} did not end"
            time.sleep(0.01)
        self._number += 1
        ends = [json.loads(file.read_text()) for file in files]
        assert not any(error for _, error in ends), "\n".join(error for _, error in ends)
        return [f"[{rank}] {line}" for rank, (said, _) in enumerate(ends) for line in
                said.splitlines()]  # fmt: skip

    def close(self):
        """End the ranks."""
        self._give(None)
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()
