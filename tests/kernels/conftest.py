# SPDX-License-Identifier: Apache-2.0
"""Fixtures that tests of kernels share."""

import dpnp
import pytest


@pytest.fixture
def on_queue(queue):
    """Return a function that copies NumPy's arrays to the queue."""
    return lambda a: dpnp.asarray(a, sycl_queue=queue)
