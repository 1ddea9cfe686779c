# SPDX-License-Identifier: Apache-2.0
"""Ordered rows, group norms and softmax of short rows as work of the host."""

import numpy as np
import pytest
from host_steps import compared, rows_of

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host tasks are for CPUs

RNG = np.random.default_rng(3)
#: Shape and axis: rows that are ranked, and longer ones, of which few elements may be first.
ROWS = [((5, 40), 1), ((300, 7), 0), ((4, 9, 11), 1), ((2, 3000), -1), ((1, 1), 0), ((3, 129), 1)]


def _with_ties(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers with equal ones; of floats, also NaN, infinity and both zeros."""
    x = RNG.integers(-9, 9, shape).astype(dtype)
    if dtype == "float32":
        x.flat[::7], x.flat[1::9], x.flat[2::11] = np.nan, -0.0, np.inf
    return x


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(("shape", "axis"), ROWS)
def test_orders_are_stable_and_nan_is_the_largest(shape, axis, dtype, queue):
    x = _with_ties(shape, dtype)
    keys = np.where(np.isnan(x), 1e300, np.where(np.isposinf(x), 1e200, x.astype("f8")))
    on_device = sycl_dnn.asarray(x, device=queue)
    count = min(3, shape[axis])
    for descending in (False, True):
        expected = np.argsort(-keys if descending else keys, axis, kind="stable")
        got = F.argsort(on_device, axis, descending)
        np.testing.assert_array_equal(sycl_dnn.asnumpy(got), expected)
        first = F.topk(on_device, count, axis, largest=descending)[1]
        np.testing.assert_array_equal(
            sycl_dnn.asnumpy(first), np.take(expected, range(count), axis)
        )


def test_first_elements_do_not_interrupt_a_sequence(on_queue):
    w = on_queue(40, 20) / 20, on_queue(3, 8) / 8
    report = compared(lambda x: F.linear(F.topk(F.linear(x, w[0]), 8)[0], w[1]), on_queue(6, 20))
    assert rows_of(report) == ["host_sequence"]


@pytest.mark.parametrize(("channels", "groups"), [(32, 8), (20, 4), (7, 7), (16, 1)])
def test_group_norms_do_not_interrupt_a_sequence(channels, groups, on_queue):
    w = on_queue(channels, 6, 3, 3) / 8, on_queue(5, channels, 3, 3) / 8
    affine = on_queue(channels), on_queue(channels)

    def function(x):
        y = F.silu(F.group_norm(F.conv2d(x, w[0], padding=1) + 3.0, groups, *affine))
        return F.conv2d(y, w[1])

    report = compared(function, on_queue(2, 6, 7, 9), tolerance=1e-5)
    assert rows_of(report) == ["host_sequence"]


@pytest.mark.parametrize("n", [1, 3, 11, 16, 17, 40])
def test_softmax_of_masked_rows(n, on_queue):
    w, mask = on_queue(n, 12) / 3, np.where(RNG.random((6, n)) < 0.4, -1e9, 0).astype("f4")
    masks = sycl_dnn.asarray(mask, device=w.sycl_queue)
    compared(lambda x: F.linear(F.softmax(F.linear(x, w) + masks, 1), F.transpose(w, 0, 1)),
             on_queue(6, 12))  # fmt: skip
