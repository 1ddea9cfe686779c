# SPDX-License-Identifier: Apache-2.0
"""NaN in groups, and averages over positions, by kernels: as in PyTorch."""

import numpy as np
import pytest
from compared_with_torch import torch
from kernel_cases import TOLERANCE, both_passes, error, host, kernels_of, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F

LAYOUTS = ["row_major", "channels_last"]


def _data(shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def _slope(shape):
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_values_stay_in_their_group(queue, layout, value):
    x = _data((2, 16, 5, 5))
    x[1, 3, 2, 2] = value
    with sycl_dnn.kernel_mode("always"):
        result = host(F.group_norm(placed(x, queue, layout), 4))
    expected = torch.nn.functional.group_norm(torch.tensor(x), 4).numpy()
    assert np.array_equal(np.isnan(result), np.isnan(expected))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(3, 24, 9, 7), (1, 64, 5, 5), (5, 16, 33, 32)])
def test_average_over_positions(queue, shape, dtype, layout):
    given = placed(_data(shape), queue, layout, dtype)
    slope = placed(_slope((*shape[:2], 1, 1)), queue, dtype=dtype)
    result = both_passes(lambda x: F.adaptive_avg_pool2d(x, 1), [given], slope)
    expected = torch_passes(
        lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1), [host(given)], host(slope)
    )
    assert kernels_of(lambda x: F.adaptive_avg_pool2d(x, 1), given)
    for ours, theirs in zip(result, expected, strict=True):
        assert error(ours, theirs) < TOLERANCE[dtype]
