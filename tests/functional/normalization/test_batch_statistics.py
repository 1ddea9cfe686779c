# SPDX-License-Identifier: Apache-2.0
"""Batch normalization in training: PyTorch's values and gradients in both layouts."""

import dpnp
import numpy as np
import pytest
from compared_with_torch import torch
from kernel_cases import TOLERANCE, both_passes, error, host, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F

LAYOUTS = ["row_major", "channels_last"]
#: A length with a remainder of 15, fewer rows than parts, channels in vectors of 8 and of 16.
SHAPES = [(3, 24, 9, 7), (5, 8, 4), (2, 48, 3, 3, 3), (2, 16, 40, 41)]


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
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [*((s, "float32") for s in SHAPES), (SHAPES[0], "bfloat16"), (SHAPES[3], "float16")],
)
def test_values_and_gradients(queue, shape, layout, dtype):
    arrays, dy = _data(shape)
    provided, slope = _placed(arrays, dy, queue, layout, dtype)
    actual = both_passes(_ours, provided, slope)
    expected = torch_passes(_torchs, [host(a) for a in provided], host(slope))
    for ours, theirs in zip(actual, expected, strict=True):
        assert error(ours, theirs) < TOLERANCE[dtype]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("provided", [(), ("weight",), ("bias",)])
def test_without_weight_or_bias(queue, layout, provided):
    arrays, dy = _data((2, 16, 6, 6))
    x, w, b = arrays
    chosen = {"weight": w, "bias": b}
    chosen = {n: chosen[n] for n in provided}
    moved, slope = _placed([x, *chosen.values()], dy, queue, layout)

    def ours(x, *vectors):
        return F.batch_norm(
            x, None, None, training=True, **dict(zip(provided, vectors, strict=True))
        )

    def torchs(x, *vectors):
        named = dict(zip(provided, vectors, strict=True))
        return torch.nn.functional.batch_norm(x, None, None, training=True, **named)

    result = both_passes(ours, moved, slope)
    for mine, theirs in zip(result, torch_passes(torchs, [x, *chosen.values()], dy), strict=True):
        assert error(mine, theirs) < TOLERANCE["float32"]


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
def test_running_statistics(queue, layout):
    (x, w, b), _ = _data((4, 16, 6, 5), centre=3.0)
    provided = placed(x, queue, layout)
    running = [make(16, dtype="float32", sycl_queue=queue) for make in (dpnp.zeros, dpnp.ones)]
    F.batch_norm(provided, *running, placed(w, queue), placed(b, queue), training=True)
    theirs = [torch.zeros(16), torch.ones(16)]
    torch.nn.functional.batch_norm(torch.tensor(x), *theirs, training=True)
    for ours, other in zip(running, theirs, strict=True):
        assert error(host(ours), other.double().numpy()) < 1e-6


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_values_stay_in_their_channel(queue, layout, value):
    arrays, _ = _data((2, 8, 5, 5))
    arrays[0][1, 3, 2, 2] = value
    args, _ = _placed(arrays, arrays[0], queue, layout)
    actual = host(_ours(*args))
    expected = _torchs(*map(torch.tensor, arrays)).numpy()
    assert np.array_equal(np.isnan(actual), np.isnan(expected))


def test_as_a_step_of_programs(queue):
    """Compiled, bound, and between steps of oneDNN and of dpnp."""
    arrays, dy = _data((4, 16, 8, 8))
    args, _ = _placed(arrays, dy, queue, "channels_last")

    def block(x, w, b):
        return F.relu(_ours(F.mul(x, 2.0), w, b)) + 1.0

    expected = torch.relu(_torchs(*map(torch.tensor, arrays))).numpy() + 1.0
    compiled = sycl_dnn.compile(block)
    for actual in (block(*args), compiled(*args), sycl_dnn.plan(block, *args)()):
        assert error(host(actual), expected.astype(np.float64)) < 1e-5
