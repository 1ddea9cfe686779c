# SPDX-License-Identifier: Apache-2.0
"""The kind of device that a graph is for, and queues of CPUs alone."""

import pytest


@pytest.fixture
def kind(queue):
    return "cpu" if queue.sycl_device.is_cpu else "gpu"


@pytest.fixture
def cpu_queue(queue):
    if not queue.sycl_device.is_cpu:
        pytest.skip('what is compiled for "cpu" does not run on queues of GPUs')
    return queue
