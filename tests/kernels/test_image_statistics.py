# SPDX-License-Identifier: Apache-2.0
"""Group norm, averages over positions and batch norm for inference, by kernels: as PyTorch."""

import numpy as np
import pytest
from compared_with_torch import torch
from kernel_cases import TOLERANCE, both_passes, error, host, kernels_of, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F

LAYOUTS = ["row_major", "channels_last"]
#: Shape, groups and dtype: several groups in a vector, one of all channels, one of each.
CASES = [
    ((3, 24, 9, 7), 6, "float32"),
    ((2, 64, 5, 5), 1, "float32"),
    ((2, 48, 21), 48, "float32"),
    ((2, 64, 12, 12), 32, "bfloat16"),
]


def _data(shape, centre=0.0):
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(shape) + centre).astype(np.float32)
    return x, *(rng.uniform(0.5, 1.5, shape[1]).astype(np.float32) for _ in range(2))


def _slope(shape):
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_values_stay_in_their_group(queue, layout, value):
    x, w, b = _data((2, 16, 5, 5))
    x[1, 3, 2, 2] = value
    with sycl_dnn.kernel_mode("always"):
        result = host(F.group_norm(placed(x, queue, layout), 4))
    expected = torch.nn.functional.group_norm(torch.tensor(x), 4).numpy()
    assert np.array_equal(np.isnan(result), np.isnan(expected))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(3, 24, 9, 7), (1, 64, 5, 5), (5, 16, 33, 32)])
def test_average_over_positions(queue, shape, dtype, layout):
    given = placed(_data(shape)[0], queue, layout, dtype)
    slope = placed(_slope((*shape[:2], 1, 1)), queue, dtype=dtype)
    result = both_passes(lambda x: F.adaptive_avg_pool2d(x, 1), [given], slope)
    expected = torch_passes(
        lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1), [host(given)], host(slope)
    )
    assert kernels_of(lambda x: F.adaptive_avg_pool2d(x, 1), given)
    for ours, theirs in zip(result, expected, strict=True):
        assert error(ours, theirs) < TOLERANCE[dtype]
