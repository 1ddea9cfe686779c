# SPDX-License-Identifier: Apache-2.0
"""Tests of float64 and complex128, which some GPUs lack."""

import pytest


def need(dtype, queue):
    """Skip the test if its dtype is wide and the queue's device has no float64."""
    is_wide = dtype in ("float64", "f8", "complex128")
    if is_wide and not queue.sycl_device.has_aspect_fp64:
        pytest.skip(f"{queue.sycl_device.name.strip()} has no float64")
