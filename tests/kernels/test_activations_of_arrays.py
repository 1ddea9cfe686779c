# SPDX-License-Identifier: Apache-2.0
"""Activations by kernels: PyTorch's values and gradients, for any length and dense layout."""

import numpy as np
import pytest
from compared_with_torch import torch
from kernel_cases import (
    TOLERANCE,
    both_passes,
    error,
    host,
    kernels_of,
    placed,
    torch_passes,
)

import sycl_dnn
from sycl_dnn import functional as F

#: Less than a vector, several groups with a rest, layouts of images.
SHAPES = [(3, 5), (7, 9371), (2, 24, 5, 3)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["relu", "silu"])
def test_values_and_gradients(queue, name, shape, dtype):
    rng = np.random.default_rng(0)
    layout = "channels_last" if len(shape) == 4 else "row_major"
    x, dy = (placed(rng.standard_normal(shape), queue, layout, dtype) for _ in range(2))
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    made = both_passes(ours, [x], dy)
    assert kernels_of(ours, x) == [f"{name}_forward"]
    for mine, other in zip(made, torch_passes(theirs, [host(x)], host(dy)), strict=True):
        assert error(mine, other) < TOLERANCE[dtype]


def test_second_derivative_of_silu(queue):
    values = np.linspace(-4, 4, 40, dtype=np.float32)
    with sycl_dnn.kernel_mode("always"):
        slope = sycl_dnn.grad(lambda x: F.sum(F.silu(x)))
        made = host(sycl_dnn.grad(lambda x: F.sum(slope(x)))(placed(values, queue)))
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(torch.nn.functional.silu(x).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(first.sum(), x)
    assert error(made, expected.numpy()) < 1e-5


def test_in_place_and_strided(queue):
    values = np.linspace(-4, 4, 48, dtype=np.float32).reshape(6, 8)
    expected = np.maximum(values, 0)
    with sycl_dnn.kernel_mode("always"):
        x = placed(values, queue)
        assert error(host(F.relu(x[:, ::2])), expected[:, ::2].astype(np.float64)) == 0
        F.relu(x, inplace=True)
        assert error(host(x), expected.astype(np.float64)) == 0


def test_compiled_functions_fuse_it(queue):
    x = placed(np.ones((4, 8), np.float32), queue)
    compiled = sycl_dnn.compile(lambda x: F.relu(F.mul(x, 2.0)))
    assert not kernels_of(compiled, x)
