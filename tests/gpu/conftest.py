# SPDX-License-Identifier: Apache-2.0
"""Fixtures for a machine with a GPU; without one these tests fail.

Run them with ``tests/executing_gpu.sh python -m pytest tests/gpu``, or ``tests/simulated_gpu.sh``:
its driver compiles and submits but computes nothing, so values are compared on all other GPUs.
"""

import faulthandler
import os

import dpctl
import lying_apart
import pytest
from simulated import leave

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import explain_absence, is_simulated, usable_devices

#: A driver that hangs cannot be interrupted: after this many seconds in one test the run ends.
TIME_LIMIT = 200
TALLY = pytest.StashKey[dict]()
STDERR = pytest.StashKey[int]()
STATUS = pytest.StashKey[int]()


def pytest_configure(config):
    config.stash[TALLY] = {}
    config.stash[STDERR] = os.dup(2)  # output is captured later


def pytest_terminal_summary(terminalreporter, config):
    results = list(config.stash[TALLY].values())
    if results:
        runs = results.count("runs")
        device = usable_devices("gpu")[0].name
        terminalreporter.write_line(
            f"{device}: {runs} rows submitted, {len(results) - runs} refused with reasons"
        )


def pytest_sessionfinish(session, exitstatus):
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    leave(config.stash[STATUS])


@pytest.fixture(autouse=True)
def _time_limit(request):
    faulthandler.dump_traceback_later(TIME_LIMIT, exit=True, file=request.config.stash[STDERR])
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def tally(request):
    """Outcome of each row, for the final line."""
    return request.config.stash[TALLY]


@pytest.fixture(scope="session")
def gpu():
    """An out-of-order queue on the GPU."""
    devices = usable_devices("gpu")
    assert devices, "no GPU; use tests/simulated_gpu.sh: " + explain_absence()
    return dpctl.SyclQueue(devices[0])


@pytest.fixture(scope="session")
def has_values():
    """Whether the GPU computes what is submitted."""
    return not is_simulated("gpu")


@pytest.fixture(scope="session")
def cpu():
    return dpctl.SyclQueue(usable_devices("cpu")[0])


@pytest.fixture
def stream(gpu):
    return dnnl.Stream(dnnl.Engine(gpu), gpu)


@pytest.fixture
def cpu_stream(cpu):
    return dnnl.Stream(dnnl.Engine(cpu), cpu)


@pytest.fixture
def unchecked():
    """Descriptors without warnings and refusals of known faults."""
    with lying_apart.unchecked():
        yield


@pytest.fixture
def values(has_values):
    """Only where kernels execute."""
    if not has_values:
        pytest.skip("a simulated GPU computes no values")
