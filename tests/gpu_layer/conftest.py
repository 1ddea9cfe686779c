# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the layer's tests: ``tests/executing_gpu.sh python -m pytest tests/gpu_layer``."""

import os
import subprocess
import sys

import dpctl
import pytest
from dpctl.program import create_program_from_source

from sycl_dnn.device import executes_on_cpu, explain_absence, usable_devices


@pytest.fixture(scope="session")
def gpu():
    devices = usable_devices("gpu")
    assert devices, "no GPU; use tests/executing_gpu.sh: " + explain_absence()
    assert executes_on_cpu(devices[0]), "another GPU: " + devices[0].name
    return devices[0]


@pytest.fixture
def queue(gpu):
    """A new out-of-order queue."""
    return dpctl.SyclQueue(gpu)


@pytest.fixture
def kernel(queue):
    """Compile OpenCL C; return the kernel of this name."""

    def compile_source(source, name):
        return create_program_from_source(queue, source).get_sycl_kernel(name)

    return compile_source


@pytest.fixture
def python():
    """Run Python in a new process on the same machine, with other variables; return its output."""

    def run(code, **variables):
        environment = os.environ | variables
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr

    return run
