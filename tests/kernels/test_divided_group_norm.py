# SPDX-License-Identifier: Apache-2.0
"""Group norm of large channels-last images, whose rows are divided among work-groups."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, host, kernels_of, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F

KERNELS = ["grouped_parts", "grouped_parts_forward"]
#: Shape, groups, dtype: one group, groups across vectors, vectors of 8, one channel each, a signal.
CASES = [
    ((1, 64, 34, 33), 1, "float32"),
    ((2, 96, 27, 27), 32, "float32"),
    ((3, 24, 60, 50), 6, "float32"),
    ((1, 32, 2100), 32, "float32"),
    ((2, 64, 47, 45), 16, "bfloat16"),
    ((1, 48, 53, 53), 3, "float16"),
]


def group_norm(shape, groups):
    """Return PyTorch's, with weights that differ."""
    torch = pytest.importorskip("torch")
    return lambda x, w, b: torch.nn.functional.group_norm(x, groups, w, b)


def drawn(shape, centre=0.0):
    """Return an image, whose channels lie about ``centre`` and apart, scales and shifts."""
    rng = np.random.default_rng(1)
    apart = np.arange(shape[1]).reshape(-1, *(1 for _ in shape[2:])) / shape[1]
    x = (rng.standard_normal(shape) + apart + centre).astype(np.float32)
    return x, *(rng.uniform(0.5, 1.5, shape[1]).astype(np.float32) for _ in range(2))


@pytest.mark.parametrize(("shape", "groups", "dtype"), CASES)
def test_values_and_gradients(queue, shape, groups, dtype):
    x, w, b = drawn(shape, centre=3.0)
    given = [placed(x, queue, "channels_last", dtype), placed(w, queue), placed(b, queue)]
    slope = placed(np.random.default_rng(2).standard_normal(shape), queue, "channels_last", dtype)

    def ours(x, w, b):
        return F.group_norm(x, groups, w, b)

    assert kernels_of(ours, *given) == KERNELS
    assert kernels_of(lambda x: F.group_norm(x, groups), given[0]) == KERNELS
    expected = torch_passes(group_norm(shape, groups), [host(a) for a in given], host(slope))
    for mine, theirs in zip(both_passes(ours, given, slope), expected, strict=True):
        assert error(mine, theirs) < 2 * TOLERANCE[dtype]


@pytest.mark.parametrize("centre", [1e3, -1e5])
def test_off_centre(queue, centre):
    torch = pytest.importorskip("torch")
    x, w, b = drawn((1, 64, 34, 33), centre)
    with sycl_dnn.kernel_mode("always"):
        made = host(
            F.group_norm(placed(x, queue, "channels_last"), 8, placed(w, queue), placed(b, queue))
        )
    wanted = torch.tensor(x).double(), torch.tensor(w).double(), torch.tensor(b).double()
    exact = group_norm(x.shape, 8)(*wanted).numpy()
    assert error(made, exact) < 2e-6


def test_first_rows_that_are_far_off(queue):
    torch = pytest.importorskip("torch")
    x, w, b = drawn((1, 64, 34, 33))
    x[0, :, 0, :3] = 1e4
    with sycl_dnn.kernel_mode("always"):
        made = host(
            F.group_norm(placed(x, queue, "channels_last"), 8, placed(w, queue), placed(b, queue))
        )
    wanted = torch.tensor(x).double(), torch.tensor(w).double(), torch.tensor(b).double()
    assert error(made, group_norm(x.shape, 8)(*wanted).numpy()) < 5e-6


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_group(queue, value):
    torch = pytest.importorskip("torch")
    x = drawn((2, 64, 34, 33))[0]
    x[1, 9, 2, 2] = value
    x[0, 33, 33, 32] = -value
    with sycl_dnn.kernel_mode("always"):
        made = host(F.group_norm(placed(x, queue, "channels_last"), 4))
    expected = torch.nn.functional.group_norm(torch.tensor(x), 4).numpy()
    assert np.array_equal(np.isnan(made), np.isnan(expected))


def test_constant_groups_and_compiled(queue):
    x = np.full((1, 64, 34, 33), 7.25, np.float32)
    x[:, 32:] = drawn((1, 32, 34, 33))[0]
    given = placed(x, queue, "channels_last")
    with sycl_dnn.kernel_mode("always"):
        made = host(F.group_norm(given, 2))
        compiled = host(sycl_dnn.compile(lambda x: F.group_norm(x, 2))(given))
    assert not made[:, :32].any()
    assert abs(made[:, 32:].std() - 1) < 1e-3
    assert np.array_equal(made, compiled)
