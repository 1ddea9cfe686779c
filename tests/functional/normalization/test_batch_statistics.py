# SPDX-License-Identifier: Apache-2.0
"""Batch normalization in training: PyTorch's values and gradients in both layouts."""

import numpy as np
import pytest
from compared_with_torch import torch
from kernel_cases import both_passes, error, host, placed, torch_passes

from sycl_dnn import functional as F

LAYOUTS = ["row_major", "channels_last"]


def _ours(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)


def _torchs(x, w, b):
    return torch.nn.functional.batch_norm(x, None, None, w, b, True)


def _data(shape, seed=0, centre=0.0):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(shape) + centre).astype(np.float32)
    vectors = [rng.uniform(0.5, 1.5, shape[1]).astype(np.float32) for _ in range(2)]
    return [x, *vectors], rng.standard_normal(shape).astype(np.float32)


def _placed(arrays, dy, queue, layout, dtype="float32"):
    x, *vectors = arrays
    provided = [placed(x, queue, layout, dtype), *(placed(v, queue) for v in vectors)]
    return provided, placed(dy, queue, layout, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_means_are_as_accurate_as_torch(queue, layout):
    """The mean is a hundred deviations off: at most twice the error of torch's own float32."""
    arrays, dy = _data((8, 64, 28, 28), centre=100.0)
    provided, slope = _placed(arrays, dy, queue, layout)
    exact = torch_passes(_torchs, arrays, dy)
    theirs = torch_passes(_torchs, arrays, dy, "float32")
    least = 4e-7 if queue.sycl_device.is_cpu else 1e-6  # roots of GPUs are rounded less exactly
    for ours, other, expected in zip(
        both_passes(_ours, provided, slope), theirs, exact, strict=True
    ):
        assert error(ours, expected) <= max(2 * error(other, expected), least)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_first_row_far_from_the_rest(queue, layout):
    arrays, dy = _data((4, 16, 5, 5), centre=100.0)
    arrays[0][2, :, 0, 0] = 0.0
    provided, slope = _placed(arrays, dy, queue, layout)
    actual = both_passes(_ours, provided, slope)
    for ours, expected in zip(actual, torch_passes(_torchs, arrays, dy), strict=True):
        assert error(ours, expected) < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_values_stay_in_their_channel(queue, layout, value):
    arrays, _ = _data((2, 8, 5, 5))
    arrays[0][1, 3, 2, 2] = value
    args, _ = _placed(arrays, arrays[0], queue, layout)
    actual = host(_ours(*args))
    expected = _torchs(*map(torch.tensor, arrays)).numpy()
    assert np.array_equal(np.isnan(actual), np.isnan(expected))
