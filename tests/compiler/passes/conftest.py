# SPDX-License-Identifier: Apache-2.0
"""Fixtures that tests of passes share."""

import dpnp
import numpy as np
import pytest


@pytest.fixture
def on_queue(queue):
    """Return a function that makes arrays of a shape with values around 0, the same in each run."""
    rng = np.random.default_rng(11)
    return lambda *shape: dpnp.asarray(rng.normal(size=shape).astype("f4"), sycl_queue=queue)
