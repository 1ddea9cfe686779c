# SPDX-License-Identifier: Apache-2.0
"""Element-wise kernels over short rows: several rows at a time, vectors of several widths."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.fused_elementwise import ON_CPU, Grid, on_cpu, units_of


@pytest.fixture(scope="module")
def cpu():
    return sycl_dnn.default_queue("cpu")


@pytest.mark.parametrize(
    ("row", "width", "n_rows"),
    [(1, 16, 64), (3, 16, 64), (4, 4, 64), (7, 4, 64), (16, 16, 64), (24, 8, 64), (32, 16, 64)]
    + [(33, 16, 16), (40, 8, 16), (120, 16, 16), (128, 16, 16), (129, 16, 1), (5000, 16, 1)],
)
def test_schedule_leaves_few_single_elements(row, width, n_rows):
    schedule = on_cpu((100, row), overlaps=False)
    assert (schedule.width, schedule.n_rows) == (width, n_rows)
    assert on_cpu((row,), overlaps=False) is ON_CPU


def test_overlapping_vectors_need_no_narrow_ones():
    assert on_cpu((100, 24), overlaps=True).width == 16
    assert on_cpu((100, 12), overlaps=True).width == 8


@pytest.mark.parametrize(("sizes", "n"), [((3, 65, 24), 6), ((130, 40), 9), ((2, 3, 9000), 18)])
def test_units_cover_all_rows(sizes, n):
    grid = Grid(sizes, ((1,) * len(sizes),))
    assert units_of(grid, on_cpu(sizes, overlaps=False)) == n


ROWS = [1, 2, 3, 4, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 40, 100, 127, 128, 129, 130]


SLOW = pytest.mark.slow


@pytest.mark.parametrize("n", [1, 65, pytest.param(63, marks=SLOW), pytest.param(130, marks=SLOW)])
@pytest.mark.parametrize(
    "dtype", ["float32", *(pytest.param(d, marks=SLOW) for d in ("bfloat16", "int32"))]
)
def test_sums_with_a_row_and_a_column_of_every_length(cpu, n, dtype):
    rng = np.random.default_rng(n)
    for row in ROWS:
        x, v, u = (rng.integers(-50, 50, s) for s in ((3, n, row), (row,), (n, 1)))
        arrays = [F.astype(dpnp.asarray(a, "f4", sycl_queue=cpu), dtype) for a in (x, v, u)]
        result = F.sub(F.add(arrays[0], arrays[1]), arrays[2])
        np.testing.assert_array_equal(F.astype(result, "float32").asnumpy(), x + v - u)


@pytest.mark.parametrize("row", ROWS)
def test_axes_in_another_order_and_strided_rows(cpu, row):
    rng = np.random.default_rng(row)
    x = rng.standard_normal((70, 3, row), "f4")
    turned = dpnp.asarray(x, sycl_queue=cpu).transpose(1, 0, 2)
    scale = rng.standard_normal((3, 1, 1), "f4")
    result = F.mul(turned, dpnp.asarray(scale, sycl_queue=cpu))
    np.testing.assert_array_equal(result.asnumpy(), x.transpose(1, 0, 2) * scale)
    every_second = dpnp.asarray(np.repeat(x, 2, -1), sycl_queue=cpu)[..., ::2]
    np.testing.assert_array_equal(F.mul(every_second, every_second).asnumpy(), x * x)


@pytest.mark.parametrize("row", [3, 24, 40])
def test_results_in_place(cpu, row):
    x = np.random.default_rng(row).standard_normal((200, row), "f4")
    array, v = dpnp.asarray(x, sycl_queue=cpu), dpnp.arange(row, dtype="f4", sycl_queue=cpu)
    F.add(array, v, out=array)
    np.testing.assert_array_equal(array.asnumpy(), x + np.arange(row, dtype="f4"))


@pytest.mark.parametrize("row", [5, 24, 31, 100])
def test_moved_elements(cpu, row):
    x = np.random.default_rng(row).standard_normal((70, row), "f4")
    array = dpnp.asarray(x, sycl_queue=cpu)
    np.testing.assert_array_equal(F.flip(array, (1,)).asnumpy(), x[:, ::-1])
    np.testing.assert_array_equal(F.roll(array, 2, 1).asnumpy(), np.roll(x, 2, 1))
    np.testing.assert_array_equal(F.tril(array).asnumpy(), np.tril(x))
