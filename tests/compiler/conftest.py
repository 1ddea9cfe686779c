# SPDX-License-Identifier: Apache-2.0
"""Arrays for the tests of compiled functions."""

import sys
from pathlib import Path

import dpnp
import pytest

sys.path += [str(Path(__file__).parents[2] / name) for name in ("benchmarks", "examples")]


@pytest.fixture
def on_device(queue):
    """Return a function that copies dicts of NumPy arrays to the device."""
    return lambda p: {name: dpnp.asarray(v, sycl_queue=queue) for name, v in p.items()}


@pytest.fixture
def weights(make):
    """A square matrix of small numbers."""
    return make(16, 16) / 4
