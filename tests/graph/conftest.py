# SPDX-License-Identifier: Apache-2.0
"""The kind of device that a graph is for."""

import pytest


@pytest.fixture
def kind(queue):
    return "cpu" if queue.sycl_device.is_cpu else "gpu"
