# SPDX-License-Identifier: Apache-2.0
"""Softmax over columns: exponentials of short ones are kept in local memory between passes."""

import numpy as np
import pytest
from wide_dtypes import need

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.expression import Expression, Term
from sycl_dnn.kernels.reduction_schedule import reduction_grid, row_of, whole_schedule

#: Columns that are kept or too long, of widths that are no multiple of vectors; beyond a cache.
CASES = [((3, 24, 9, 11), 1), ((2, 128, 7, 7), 1), ((2, 513, 7, 7), 1), ((19, 24, 25, 31), 1),
         ((2, 5, 3, 24, 17), 3), ((30, 24, 20), 0), ((100, 3000), 0), ((130, 2100), 0)]  # fmt: skip


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.fixture
def drawn(on_queue):
    """Return a function that draws an array and its values in float64."""

    def draw(shape, dtype, seed=0):
        values = np.random.default_rng(seed).normal(0, 3, shape).astype("f4")
        x = F.astype(on_queue(values), dtype)
        return x, F.astype(x, "float32").asnumpy().astype("f8")

    return draw


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_values(shape, axis, dtype, queue, drawn):
    need(dtype, queue)
    x, values = drawn(shape, dtype)
    limit = {"bfloat16": 4e-3, "float16": 5e-4}.get(dtype, 1e-6)
    for call in (F.softmax, sycl_dnn.compile(F.softmax)):
        y = F.astype(call(x, axis), "float32").asnumpy()
        np.testing.assert_allclose(y, softmax(values, axis), atol=limit)


def test_two_reduced_axes(drawn):
    x, values = drawn((12, 9, 430), "float32")

    def function(x):
        e = F.exp(x - F.amax(x, (0, 1), keepdim=True))
        return e / F.sum(e, (0, 1), keepdim=True)

    for call in (function, sycl_dnn.compile(function)):
        np.testing.assert_allclose(call(x).asnumpy(), softmax(values, (0, 1)), atol=1e-6)


def test_several_in_one_launch(drawn):
    """Forms of a joined kernel share local memory; each has an array per vector side by side."""
    pairs = [drawn((24, 700), "float32", 1), drawn((3, 40, 90), "bfloat16", 2)]
    compiled = sycl_dnn.compile(lambda x, y: (F.softmax(x, 0), F.softmax(y, 1)))
    for y, (_, values), axis in zip(compiled(*[x for x, _ in pairs]), pairs, (0, 1), strict=True):
        y = F.astype(y, "float32").asnumpy()
        np.testing.assert_allclose(y, softmax(values, axis), atol=4e-3)


def test_special_values(drawn, on_queue):
    _, values = drawn((24, 700), "float32")
    values[3, 5], values[:, 6], values[4, 7] = np.nan, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        expected = softmax(values, 0)
    y = F.softmax(on_queue(values.astype("f4")), 0).asnumpy()
    np.testing.assert_allclose(y, expected, atol=1e-6)


def test_only_terms_of_a_later_pass_are_kept():
    terms = [Term("max", "float32", (0,), ()), Term("sub", "float32", (0, 1), ()),
             Term("exp", "float32", (2,), ()), Term("sum", "float32", (3,), ()),
             Term("div", "float32", (3, 4), ())]  # fmt: skip
    again = Expression(("float32",), tuple(terms), (5,))
    once = Expression(("float32",), tuple(terms[:-1]), (4,))

    def kept(expression, n, is_cpu=True):
        strides = (n * 500, 500, 1), (n * 500, 500, 1)
        grid = reduction_grid((4, n, 500), "krk", strides)
        return row_of(expression, grid, whole_schedule(grid, 3, is_cpu=is_cpu))

    assert [kept(again, n) for n in (24, 64, 65, 512, 513)] == [64, 64, 512, 512, 0]
    assert kept(once, 24) == kept(again, 24, is_cpu=False) == 0
