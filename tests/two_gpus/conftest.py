# SPDX-License-Identifier: Apache-2.0
"""Fixtures for a machine with two GPUs: ``tests/executing_gpu.sh --devices 2 python -m pytest
tests/two_gpus``. Without the second one these tests fail.
"""

import dpctl
import pytest

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import explain_absence, usable_devices


@pytest.fixture(scope="session")
def gpus():
    """The first two GPUs, of one platform, whose default context has both."""
    devices = usable_devices("gpu")[:2]
    assert len(devices) == 2, f"{len(devices)} GPUs; use --devices 2: " + explain_absence()
    return devices


@pytest.fixture
def queues(gpus):
    """An out-of-order queue on each."""
    return [dpctl.SyclQueue(device) for device in gpus]


@pytest.fixture
def streams(queues):
    return [dnnl.Stream(dnnl.Engine(queue), queue) for queue in queues]
