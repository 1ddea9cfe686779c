# SPDX-License-Identifier: Apache-2.0
"""Reductions of short rows: vectors across rows, whose elements are transposed in registers."""

import dpnp
import numpy as np
import pytest
import wide_dtypes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.expression import Expression, Term
from sycl_dnn.kernels.reduction_schedule import reduction_grid, short_of, whole_schedule

#: Rows of several tiles, of tiles and single elements, of less than a tile.
LENGTHS = (3, 4, 7, 8, 13, 24, 31, 129)


def _rows(m, n, dtype, queue):
    values = np.random.default_rng(n).integers(0, 9, (m, n)).astype("f4")
    return values, sycl_dnn.asarray(values, dtype=dtype, sycl_queue=queue)


def _numbers(x):
    return dpnp.asnumpy(F.astype(x, "float32"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_places_and_extremes(dtype, queue):
    def functions(x):
        return F.argmax(x, 1), F.amin(x, 1)

    arrays = [_rows(m, n, dtype, queue) for n in LENGTHS for m in (5, 9, 37)]
    for values, x in arrays:
        places, least = functions(x)
        np.testing.assert_array_equal(dpnp.asnumpy(places), values.argmax(1))
        np.testing.assert_array_equal(_numbers(least), values.min(1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_softmax_and_gradient(n, dtype, queue):
    wide_dtypes.need(dtype, queue)
    for m in (9, 37):
        values, x = _rows(m, n, dtype, queue)
        values[2, n - 1] = np.nan
        x = sycl_dnn.asarray(values, dtype=dtype, sycl_queue=queue)
        logarithms = values - np.log(np.exp(values).sum(1, keepdims=True))
        tolerance = {"float32": 2e-6, "bfloat16": 3e-2, "float64": 1e-6}[dtype]
        y = F.log_softmax(x, 1)
        np.testing.assert_allclose(_numbers(y), logarithms, rtol=tolerance, atol=tolerance)
        dx = sycl_dnn.grad(lambda x: F.sum(F.log_softmax(x, 1)[:, 0]))(x)
        slopes = np.eye(n)[0] - np.exp(logarithms)
        np.testing.assert_allclose(_numbers(dx), slopes, rtol=tolerance, atol=tolerance)


def test_rows_apart_and_turned(on_queue):
    """Rows that are parts of longer ones, backward, and one array of which rows are columns."""
    values = np.random.default_rng(0).standard_normal((3, 40, 50)).astype("f4")
    x = on_queue(values)
    for view, expected in (
        (x[:, :, 3:17], values[:, :, 3:17]),
        (x[:, ::-1, 3:17], values[:, ::-1, 3:17]),
        (x[:, 3:17].mT, values[:, 3:17].mT),
    ):
        y = np.exp(expected - expected.max(2, keepdims=True))
        y /= y.sum(2, keepdims=True)
        np.testing.assert_allclose(F.softmax(view, 2).asnumpy(), y, rtol=1e-5, atol=1e-7)
        both = F.sum(view * on_queue(np.ascontiguousarray(expected.mT)).mT, 2)
        np.testing.assert_allclose(both.asnumpy(), (expected**2).sum(2), rtol=1e-5, atol=1e-5)


def test_tiles_are_of_arrays_whose_rows_vectors_cross():
    def tile(sizes, kinds, strides, **options):
        grid = reduction_grid(sizes, kinds, [strides])
        return whole_schedule(grid, 1, is_cpu=True, **options).tile

    assert [tile((100, n), "kr", (n, 1)) for n in (3, 4, 7, 8, 31)] == [0, 4, 4, 8, 8]
    assert tile((100, 64), "kr", (64, 1)) == 0  # vectors are along rows
    assert tile((200, 64), "kr", (64, 1), short=65) == 8
    assert tile((100, 8), "kr", (16, 2)) == 0
    assert tile((8, 100), "rk", (100, 1)) == 0
    assert tile((10, 5), "kr", (5, 1)) == 4


def test_kernels_of_whole_tiles_have_no_code_for_single_elements():
    def has_rest(n):
        grid = reduction_grid((100, n), "kr", [(n, 1)])
        return whole_schedule(grid, 1, is_cpu=True).has_rest

    assert [has_rest(n) for n in (3, 4, 6, 8, 12, 24)] == [True, False, True, False, True, False]


def test_rows_of_which_terms_are_worth_tiles():
    def short(operations, kinds="kr", n_passes=1):
        terms = [Term(name, "float32", (n,), ()) for n, name in enumerate(operations)]
        expression = Expression(("float32",), tuple(terms), (len(terms),))
        sizes = (40, 50, 60)[: len(kinds)]
        grid = reduction_grid(sizes, kinds, [(3000, 60, 1)[-len(sizes) :]])
        return short_of(expression, grid, n_passes)

    assert short(["sum"]) == 65
    assert short(["sum"], "rkr") == short([]) == 32
    assert short(["sum", "max"], n_passes=2) == 16
    assert short(["max", "exp", "sum"], n_passes=2) == 129
