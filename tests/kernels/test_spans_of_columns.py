# SPDX-License-Identifier: Apache-2.0
"""Reductions of columns that are read in the order of memory: states in local memory."""

import dpnp
import numpy as np
import pytest
from wide_dtypes import need

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.expression import Expression, Term
from sycl_dnn.kernels.reduction_schedule import in_memory_order, reduction_grid, whole_schedule

#: Shapes of more elements than a cache holds, and reduced axes: columns that are no multiple of a
#: vector or of several, more columns than a span, kept axes outside, two reduced axes.
CASES = [((600, 470), (0,)), ((3, 131, 1357), (1,)), ((5, 9, 40, 161), (1, 2))]
CASES.append(((280, 8, 130), (0,)))


def chosen(sizes, kinds, n_inputs=1, broadcast=0, n_sums=1, n_processors=1):
    """Return the schedule for dense arrays, the first inputs varying along the last axis only."""
    sums = [Term("sum", "float32", (0,), ()) for _ in range(n_sums)]
    expression = Expression(("float32",) * n_inputs, tuple(sums), (n_inputs,))
    dense = tuple(int(np.prod(sizes[k + 1 :])) for k in range(len(sizes)))
    rows = [(*(0 for _ in sizes[1:]), 1)] * broadcast
    kept = tuple(s if kind == "k" else 0 for s, kind in zip(dense, kinds, strict=True))
    strides = [*rows, *[dense] * (n_inputs - broadcast), kept]
    grid = reduction_grid(sizes, kinds, strides)
    return in_memory_order(grid, whole_schedule(grid, 2, is_cpu=True), expression, n_processors)


def test_columns_beyond_a_cache_have_spans():
    schedule = chosen((4096, 768), "rk")
    assert (schedule.span, schedule.n_rows, schedule.step) == (1024, 16, 64)
    assert not chosen((256, 768), "rk").span
    assert not chosen((64, 76800), "rk").span
    assert not chosen((40960, 64), "rk").span
    assert not chosen((768, 4096), "kr").span


def test_processors_share_the_columns_of_what_caches_hold():
    assert chosen((4096, 768), "rk", n_processors=2).span == 384
    assert chosen((4096, 777), "rk", n_processors=2).span == 448
    assert chosen((4096, 768), "rk", n_processors=100).span == 64
    assert chosen((8192, 768), "rk", n_processors=2).span == 1024
    assert chosen((5, 4096, 192), "krk", n_processors=2).span == 1024
    assert chosen((3, 4096, 192), "krk", n_processors=6).span == 128


def test_other_spans_are_the_same_kernel(on_queue, drawn):
    function, names = sycl_dnn.compile(lambda x: F.sum(x, 0)), set()
    for n in (768, 512, 777):
        x = on_queue(drawn((4096, n)))
        np.testing.assert_array_equal(function(x).asnumpy(), x.asnumpy().sum(0))
        names |= {part.row for part in function.explain(x).parts}
    assert len(names) == 1


def test_few_rows_of_several_arrays_are_read_at_a_time():
    n_rows = [chosen((4096, 768), "rk", n).n_rows for n in (1, 2, 3, 9)]
    assert n_rows == [16, 8, 5, 4]
    assert chosen((4096, 768), "rk", 3, broadcast=2).n_rows == 16


def test_states_of_many_reductions_fit_into_local_memory():
    spans = [chosen((4096, 768), "rk", n_sums=n).span for n in (3, 4, 16, 48, 49)]
    assert spans == [1024, 768, 192, 64, 0]


def test_many_extremes_of_columns(on_queue, drawn):
    values = drawn((601, 470))

    def extremes(x):
        return [F.argmax(x * (n + 1.0), 0) for n in range(14)]

    results = sycl_dnn.compile(extremes)(on_queue(values))
    for y in results:
        np.testing.assert_array_equal(y.asnumpy(), values.argmax(0))


@pytest.fixture
def drawn():
    """Return a function that draws small integers: their sums are exact in every order."""
    rng = np.random.default_rng(0)
    return lambda shape: rng.integers(-8, 9, shape).astype("f4")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "float64"])
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_sums_and_extremes(shape, axes, dtype, queue, on_queue, drawn):
    need(dtype, queue)
    values = drawn(shape)
    x = F.astype(on_queue(values), dtype)
    for name in ("sum", "amax", "amin"):
        y = F.astype(getattr(F, name)(x, axes), "float32").asnumpy()
        expected = getattr(values, name.removeprefix("a"))(axes)
        if dtype == "bfloat16" and name == "sum":
            expected = F.astype(F.astype(on_queue(expected), dtype), "float32").asnumpy()
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_indices_and_truth(shape, axes, on_queue, drawn):
    values = drawn(shape)
    x = on_queue(values)
    if len(axes) == 1:
        np.testing.assert_array_equal(F.argmax(x, axes[0]).asnumpy(), values.argmax(axes[0]))
    y = F.any(F.gt(x, 7.5), axes[0]).asnumpy()
    np.testing.assert_array_equal(y, (values > 7.5).any(axes[0]))


def test_nan_is_the_extreme(on_queue, drawn):
    values = drawn((600, 470))
    values[17, 5] = values[599, 469] = values[0, 0] = np.nan
    y = F.amax(on_queue(values), 0).asnumpy()
    assert np.flatnonzero(np.isnan(y)).tolist() == [0, 5, 469]


def test_results_of_elements_and_operands_of_columns(on_queue, drawn):
    x, row = drawn((600, 470)), drawn((470,))

    def both(a, b):
        centered = F.sub(a, b)
        return F.sum(F.mul(centered, centered), 0), F.sum(centered, 0)

    squares, sums = both(on_queue(x), on_queue(row))
    np.testing.assert_array_equal(squares.asnumpy(), ((x - row) ** 2).sum(0))
    np.testing.assert_array_equal(sums.asnumpy(), (x - row).sum(0))


def test_sums_of_many_rows_are_accurate(on_queue):
    x = np.random.default_rng(1).random((20011, 130), dtype="f4")
    error = abs(F.sum(on_queue(x), 0).asnumpy() - x.sum(0, dtype="f8"))
    assert (error <= 1.5 * np.spacing(x.sum(0))).all()


def test_channels_last_statistics(on_queue):
    x = np.random.default_rng(2).standard_normal((5, 30, 30, 96)).astype("f4") + 3
    image = dpnp.moveaxis(on_queue(x), -1, 1)
    mean, variance = x.mean((0, 1, 2), dtype="f8"), x.var((0, 1, 2), dtype="f8")
    np.testing.assert_allclose(F.mean(image, (0, 2, 3)).asnumpy(), mean, rtol=1e-6)
    y = F.batch_norm(image, None, None, training=True).asnumpy()
    expected = (x - mean) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(np.moveaxis(y, 1, -1), expected, atol=1e-5)
