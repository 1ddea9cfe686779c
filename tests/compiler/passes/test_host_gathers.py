# SPDX-License-Identifier: Apache-2.0
"""Elements that are moved by their coordinates as work of the host between primitives."""

import numpy as np
import pytest
from host_steps import compared, rows_of

from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host tasks are for CPUs


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(1, 1, 1, 1), (4, 0, 2, 3), (0, 5, 0, 0)])
@pytest.mark.parametrize("channels", [3, 16])
def test_padding_between_convolutions(mode, widths, channels, on_queue):
    first, last = on_queue(channels, 8, 3, 3) / 8, on_queue(8, channels, 3, 3) / 8

    def function(x):
        return F.conv2d(F.pad(F.conv2d(x, first), widths, mode=mode), last)

    report = compared(function, on_queue(2, 8, 40, 40), tolerance=1e-5)
    assert {p.implementation for p in report.parts if "gather" in p.row} <= {"host"}
    assert not any(row.startswith("joined") for row in rows_of(report))


@pytest.mark.parametrize("shape", [(2, 3, 12, 13), (1, 20, 9), (1, 2, 3, 4, 5)])
def test_order_of_elements(shape, on_queue):
    axes = (1, len(shape) - 1)

    def function(x):
        return F.roll(F.flip(x, axes), 2, -1), F.roll(F.flip(x, (0,)), 3, 1)

    compared(function, on_queue(*shape))


def test_padding_of_an_argument_is_in_the_thread_of_the_caller(on_queue):
    report = compared(lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), on_queue(1, 3, 20, 20))
    assert [p.implementation for p in report.parts] == ["host"]


def test_integers_are_left_to_kernels(on_queue):
    x = (on_queue(1, 3, 6, 6) * 100).astype("int32")
    compared(lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), x)


def test_nan_is_moved(on_queue):
    x = on_queue(1, 2, 4, 4)
    x[0, 0, 1, 1] = np.nan
    compared(lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), x)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rows_of_a_table_before_a_product(dtype, on_queue):
    table, w = on_queue(1000, 130), on_queue(24, 130) / 11
    ids = F.asarray(np.array([[3, 1, 999], [0, 998, 7]] * 20, dtype), sycl_queue=w.sycl_queue)
    report = compared(lambda ids: F.linear(F.embedding(ids, table), w), ids)
    assert rows_of(report) == ["host_sequence"]


def test_rows_outside_of_a_table_are_nan(on_queue):
    table, w = on_queue(300, 130), on_queue(24, 130) / 11
    ids = F.asarray(np.array([3, 300, -301] * 20), sycl_queue=w.sycl_queue)
    for function in (
        lambda ids: F.linear(F.embedding(ids, table), w),
        lambda ids: F.linear(F.index_select(table, 0, ids), w),
    ):
        assert rows_of(compared(function, ids)) == ["host_sequence"]
