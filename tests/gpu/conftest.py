# SPDX-License-Identifier: Apache-2.0
"""Fixtures for a machine with a GPU, real or simulated; without one these tests fail.

Run them with ``tests/simulated_gpu.sh python -m pytest tests/gpu``. The simulated driver compiles
and submits but computes nothing, so values are never looked at here.
"""

import dpctl
import pytest

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import explain_absence, usable_devices


@pytest.fixture(scope="session")
def gpu():
    """An out-of-order queue on the GPU."""
    devices = usable_devices("gpu")
    assert devices, "no GPU; use tests/simulated_gpu.sh: " + explain_absence()
    return dpctl.SyclQueue(devices[0])


@pytest.fixture(scope="session")
def cpu():
    return dpctl.SyclQueue(usable_devices("cpu")[0])


@pytest.fixture
def stream(gpu):
    return dnnl.Stream(dnnl.Engine(gpu), gpu)


@pytest.fixture
def cpu_stream(cpu):
    return dnnl.Stream(dnnl.Engine(cpu), cpu)
