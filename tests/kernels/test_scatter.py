"""Kernels that write or add where an index says: values in every dtype, layout and size."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.selection import (
    ADD_AT,
    SCATTER,
    SCATTER_ADD,
    SCATTER_MAX,
    SCATTER_MIN,
    SCATTER_MUL,
)

RNG = np.random.default_rng(7)
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "bool")
#: Operations that combine values with an array, and NumPy's.
COMBINED = {
    ADD_AT: np.add,
    SCATTER_MUL: np.multiply,
    SCATTER_MAX: np.maximum,
    SCATTER_MIN: np.minimum,
}
#: Shapes of the result, the values and the index; the axis.
CASES = {
    "rows": ((50, 70), (13, 70), (13, 1), 0),
    "long rows": ((90, 128), (700, 128), (700, 1), 0),
    "narrow rows": ((100, 3), (500, 3), (500, 1), 0),
    "elements of rows": ((5, 20), (5, 33), (5, 33), 1),
    "a vector": ((40,), (300,), (300,), 0),
    "the middle axis": ((3, 9, 5), (3, 30, 5), (1, 30, 1), 1),
    "each of the middle axis": ((3, 9, 300), (3, 30, 300), (3, 30, 300), 1),
    "the last axis": ((2, 7, 33), (2, 7, 9), (2, 7, 9), 2),
}


def _reference(into, values, index, axis, put):
    """Write values into an array at an index; positions outside are skipped."""
    into, places = into.copy(), list(np.ogrid[tuple(slice(n) for n in values.shape)])
    places[axis] = index
    *places, values = np.broadcast_arrays(*places, values)
    inside = (places[axis] >= 0) & (places[axis] < into.shape[axis])
    put(into, tuple(p[inside] for p in places), values[inside])
    return into


def _set(into, places, values):
    into[places] = values


@pytest.fixture
def run(queue):
    """Return a function that computes nodes of NumPy's arrays on the queue."""

    def made(definition, *arrays):
        call = sycl_dnn.compile(lambda *xs: xs[0].trace.logged(computed, definition, *xs))
        return dpnp.asnumpy(call(*[dpnp.asarray(a, sycl_queue=queue) for a in arrays]))

    return made


@pytest.mark.sweep(16)
@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_values_written_and_added(case, dtype, kind, run):
    shape, of_values, of_index, axis = CASES[case]
    x, values = ((RNG.normal(size=s) * 5).astype(dtype) for s in (shape, of_values))
    index = RNG.integers(-2, shape[axis] + 2, of_index).astype(kind)
    result = run(lambda old, new, i: SCATTER(old, new, i, axis=axis), x, values, index)
    np.testing.assert_array_equal(result, _reference(x, values, index, axis, _set))
    if dtype == "bool":
        return
    result = run(lambda new, i: SCATTER_ADD(new, i, axis=axis, shape=shape), values, index)
    wide = "float64" if np.dtype(dtype).kind == "f" else dtype
    expected = _reference(np.zeros(shape, wide), values.astype(wide), index, axis, np.add.at)
    tolerance = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}.get(dtype, 0)
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=30 * tolerance)
    for combine, ufunc in COMBINED.items():
        result = run(lambda old, new, i, f=combine: f(old, new, i, axis=axis), x, values, index)
        with np.errstate(over="ignore"):
            expected = _reference(x, values, index, axis, ufunc.at)
        np.testing.assert_allclose(result, expected, rtol=10 * tolerance, atol=30 * tolerance)


def test_nan_wins_of_extremes_in_both_places(run):
    x, index = np.array([np.nan, 1, 2], "f4"), np.array([0, 1, 1, 1])
    values = np.array([1, np.nan, 5, -5], "f4")
    for combine in (SCATTER_MAX, SCATTER_MIN, SCATTER_MUL):
        result = run(lambda old, new, i, f=combine: f(old, new, i, axis=0), x, values, index)
        np.testing.assert_array_equal(result, [np.nan, np.nan, 2])


def test_sums_are_deterministic(run):
    values, index = RNG.normal(size=(5000, 70)).astype("f4"), RNG.integers(0, 9, (5000, 1))
    definition = lambda v, i: SCATTER_ADD(v, i, axis=0, shape=(9, 70))  # noqa: E731
    first = run(definition, values, index)
    assert all(np.array_equal(first, run(definition, values, index)) for _ in range(3))


def test_transposed_arrays(run):
    x, values = (RNG.normal(size=(6, n)).astype("f4").T for n in (40, 9))
    index = RNG.permutation(40)[:9].reshape(9, 1)
    result = run(lambda old, new, i: SCATTER(old, new, i, axis=0), x, values, index)
    np.testing.assert_array_equal(result, _reference(x, values, index, 0, _set))


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_indexed_elements_are_one_kernel(axis, queue):
    x = RNG.normal(size=(40, 70)).astype("float32")
    index = RNG.integers(0, 40, (40, 70))
    places = dpnp.asarray(index, sycl_queue=queue)
    pullback = sycl_dnn.vjp(
        lambda x: functional.gather(x, axis, places), dpnp.asarray(x, sycl_queue=queue)
    )[1]
    with sycl_dnn.profile() as found:
        (dx,) = pullback(dpnp.asarray(x, sycl_queue=queue))
    assert len(found.records) == 1
    expected = _reference(np.zeros_like(x), x, index, axis, np.add.at)
    np.testing.assert_allclose(dpnp.asnumpy(dx), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [
    lambda x: functional.sort(x, -1)[0], lambda x: functional.topk(x, 3, -1)[0],
    lambda x: functional.max(x, -1)[0], lambda x: functional.adaptive_max_pool1d(x, 7),
])  # fmt: skip
def test_gradients_of_distinct_elements_are_one_kernel_without_conversions(function, queue):
    given = (RNG.permutation(40 * 70).reshape(40, 70) + 1).astype("float32") / 16
    x = sycl_dnn.asarray(given, dtype="bfloat16", sycl_queue=queue)
    y, pullback = sycl_dnn.vjp(function, x)
    with sycl_dnn.profile() as found:
        (dx,) = pullback(y)
    assert len([r for r in found.records if r.kind != "trace"]) == 1
    expected = sycl_dnn.asarray(given, dtype="bfloat16", sycl_queue=queue).astype("float32")
    dx = dpnp.asnumpy(dx.astype("float32"))
    np.testing.assert_array_equal(dx, np.where(dx, dpnp.asnumpy(expected), 0))
    assert (dx != 0).sum() == y.size


def test_index_add_is_one_kernel(queue):
    x, y = (
        dpnp.asarray(RNG.normal(size=s), dtype="f4", sycl_queue=queue) for s in ((9, 5), (3, 5))
    )
    index = dpnp.asarray([1, 1, 8], sycl_queue=queue)
    with sycl_dnn.profile() as found:
        result = functional.index_add(x, 0, index, y)
    assert len([r for r in found.records if r.kind != "trace"]) == 1
    expected = dpnp.asnumpy(x)
    np.add.at(expected, [1, 1, 8], dpnp.asnumpy(y))
    np.testing.assert_allclose(dpnp.asnumpy(result), expected, rtol=1e-6)
