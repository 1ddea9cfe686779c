# SPDX-License-Identifier: Apache-2.0
"""Element-wise kernels over short rows: several rows at a time, vectors of several widths."""

import math

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.kernels.elementwise_schedule import ON_CPU, Grid, on_cpu, units_of
from sycl_dnn.kernels.expression import Expression, Source, Term
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import ABS, cast
from sycl_dnn.ops.shape import broadcast_to


@pytest.fixture(scope="module")
def cpu():
    return sycl_dnn.default_queue("cpu")


def schedule_of(sizes, *operations, strides=None, place=()):
    """Return the schedule of a chain of operations on an array of these sizes, and its grid.

    ``place`` has the strides of a coordinate, if there is one.
    """
    dense = tuple(math.prod(sizes[k + 1 :]) for k in range(len(sizes)))
    strides = strides or (dense, dense)
    terms = [Term(name, "float32", (n,), ()) for n, name in enumerate(operations)]
    results, places = (len(terms),), [place][: len(place)]
    terms += [Term("iota", "int32", (), (("place", n),)) for n in range(len(places))]
    expression = Expression(("float32",), tuple(terms), results, (), len(places))
    grid = Grid(sizes, (strides[0], *places, strides[1]))
    return on_cpu(expression, grid), grid


@pytest.mark.parametrize(
    ("row", "width", "n_rows", "pieces"),
    [(1, 16, 4096, (1,)), (3, 16, 1365, (2, 1)), (15, 16, 273, (8, 4, 2, 1)), (16, 16, 256, (16,))]
    + [(24, 16, 170, (16, 8)), (31, 8, 64, ()), (33, 16, 64, ()), (49, 16, 64, ())]
    + [(120, 16, 34, (16,) * 7 + (8,)), (128, 16, 32, (16,) * 8), (129, 16, 1, ())],
)
def test_schedule_unrolls_multiples_of_8_and_rows_shorter_than_a_vector(row, width, n_rows, pieces):
    schedule, _ = schedule_of((100, row), "neg")
    assert (schedule.width, schedule.n_rows, schedule.pieces) == (width, n_rows, pieces)
    assert schedule_of((row,), "neg")[0] is ON_CPU


def test_only_short_code_is_repeated_for_each_vector_of_a_row():
    assert schedule_of((100, 64), *["neg"] * 16)[0].pieces == (16,) * 4
    assert not schedule_of((100, 64), *["neg"] * 17)[0].pieces
    assert not schedule_of((100, 64), "exp")[0].pieces
    assert not schedule_of((100, 64), "neg", strides=((128, 2), (64, 1)))[0].pieces
    assert not schedule_of((100, 64), "neg", place=(0, 1))[0].pieces
    assert schedule_of((100, 64), *["neg"] * 15, place=(1, 0))[0].pieces == (16,) * 4


@pytest.mark.parametrize(("along", "pieces"), [((1, 0), (16,) * 4), ((64, 1), ())])
def test_vectors_of_gathered_rows_are_unrolled(along, pieces):
    terms = (Term("gather", "float32", (0,), (("source", 0),)),)
    expression = Expression(("int64",), terms, (1,), (Source("float32", 1),))
    assert on_cpu(expression, Grid((100, 64), (along, (0, 1), (64, 1)))).pieces == pieces


@pytest.mark.parametrize(
    ("n", "row", "n_rows"), [(999, 1000, 16), (999, 1024, 4), (999, 1025, 1), (2561, 1024, 1)]
)
def test_columns_of_gathered_elements_stay_in_the_cache(n, row, n_rows):
    terms = (Term("gather", "float32", (0,), (("source", 0),)),)
    expression = Expression(("int64",), terms, (1,), (Source("float32", 1),))
    grid = Grid((n, row), ((0, 1), (row, 0), (row, 1)))
    assert on_cpu(expression, grid).n_rows == n_rows


def test_overlapping_vectors_need_no_narrow_ones():
    assert schedule_of((100, 24), "exp")[0].width == 8
    assert schedule_of((100, 24), "neg", place=(0, 1))[0].width == 16
    assert schedule_of((100, 12), "neg", place=(0, 1))[0].width == 8


@pytest.mark.parametrize(("row", "n_rows"), [(7, 64), (32, 64), (33, 16), (128, 16), (129, 1)])
def test_coordinates_are_computed_once_for_several_rows(row, n_rows):
    assert schedule_of((100, row), "neg", place=(0, 1))[0].n_rows == n_rows


@pytest.mark.parametrize(
    ("sizes", "n"), [((3, 165, 24), 3), ((3, 600, 7), 6), ((130, 40), 2), ((2, 3, 9000), 18)]
)
def test_units_cover_all_rows(sizes, n):
    schedule, grid = schedule_of(sizes, "neg")
    assert units_of(grid, schedule) == n


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


@operation
def spread(x, v, u):
    """Return a function of a matrix, a row and a column, in one kernel."""

    def definition(x, v, u):
        x, v, u = (cast(node, "float32") for node in (x, v, u))
        return cast(x * ABS(v) + (v + 1.0) - u * u, "bfloat16" if is_narrow else "float32")

    is_narrow = x.dtype == "bfloat16"
    return computed(definition, x, v, u)


def of_spread(n, row):
    rng = np.random.default_rng(row)
    x, v, u = (rng.integers(-3, 4, s).astype("f4") for s in ((n, row), (1, row), (n, 1)))
    v[0, row // 2], v[0, -1] = np.nan, -0.0
    return [x, v, u], x * np.abs(v) + (v + 1) - u * u


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("row", [8, 24, 49, 100, 129, 300, 4096, 4100])
@pytest.mark.parametrize("n", [1, 63, 64, 150])
def test_values_that_are_equal_in_all_rows_are_computed_once(cpu, n, row, dtype):
    arrays, reference = of_spread(n, row)
    arrays = [sycl_dnn.asarray(a, dtype=dtype, sycl_queue=cpu) for a in arrays]
    result = F.astype(spread(*arrays), "float32").asnumpy()
    np.testing.assert_array_equal(result, reference)


@pytest.mark.parametrize(
    ("sizes", "operation", "n_rows"),
    [((3, 64, 200), "neg", 16), ((3, 64, 100), "neg", 64), ((3, 64, 200), "cast", 1)]
    + [((3, 63, 200), "neg", 1), ((3, 64, 4100), "neg", 1)],
)
def test_values_equal_in_neighboring_rows_are_computed_by_column(sizes, operation, n_rows):
    _, n, row = sizes
    schedule, _ = schedule_of(sizes, operation, strides=((row, 0, 1), (n * row, row, 1)))
    assert (schedule.n_rows, schedule.in_columns) == (n_rows, n_rows > 1)


@operation
def repeated_squares(x):
    return computed(lambda n: broadcast_to(n * n, (3, 9, 9, x.shape[-1])), x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("row", [100, 116, 129, 300, 4100])
def test_squares_repeated_in_neighboring_rows(cpu, row, dtype):
    x = np.random.default_rng(row).integers(-9, 9, (3, 1, 1, row)).astype("f4")
    array = sycl_dnn.asarray(x, dtype=dtype, sycl_queue=cpu)
    result = F.astype(repeated_squares(array), "float32").asnumpy()
    np.testing.assert_array_equal(result, np.broadcast_to(x * x, (3, 9, 9, row)))


def test_joined_launches_keep_values_of_their_own(cpu):
    cases = [of_spread(*sizes) for sizes in ((100, 200), (70, 300), (90, 200))]
    step = sycl_dnn.compile(lambda cases: [spread(*arrays) for arrays in cases])
    on_device = [[dpnp.asarray(a, sycl_queue=cpu) for a in arrays] for arrays, _ in cases]
    for result, (_, reference) in zip(step(on_device), cases, strict=True):
        np.testing.assert_array_equal(result.asnumpy(), reference)
    assert step.explain(on_device).n_steps == 1
