# SPDX-License-Identifier: Apache-2.0
"""A queue whose events have times, and arrays on it."""

import dpctl
import dpnp
import pytest

from sycl_dnn.device import usable_devices


@pytest.fixture
def timed():
    """A queue of the CPU device whose events have times."""
    return dpctl.SyclQueue(usable_devices("cpu")[0], property="enable_profiling")


@pytest.fixture
def ones(timed):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=timed)
