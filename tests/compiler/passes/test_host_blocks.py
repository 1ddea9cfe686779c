# SPDX-License-Identifier: Apache-2.0
"""Small kernels over integers and truth values, gathers and reductions, computed by the host."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

RNG = np.random.default_rng(0)
NUMBERS = RNG.standard_normal((6, 5, 40)).astype("f4")
INDICES = RNG.integers(-6, 6, (7, 40))


def with_product(function):
    """Return a function whose results depend on a product, which the host computes."""

    def computed(w, *arrays):
        return F.matmul(w, w), *function(*arrays)

    return computed


def check(function, queue, *arrays):
    """Compare the results with those of launched kernels; all are computed by the host."""
    given = [dpnp.asarray(a, sycl_queue=queue) for a in (np.eye(16, dtype="f4"), *arrays)]
    launched = sycl_dnn.compile(with_product(function), passes={"run_on_host": False})
    compiled = sycl_dnn.compile(with_product(function))
    for a, b in zip(compiled(*given), launched(*given), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=2e-6, atol=1e-6)
    assert [p.row for p in compiled.explain(*given).parts] == ["host_sequence"]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers(dtype, queue):
    function = lambda a, b: (  # noqa: E731
        F.remainder(a * b - 3, 7), F.div(a, b, rounding_mode="floor"), F.maximum(a, -b),
        F.where(a < b, a, b), F.astype(F.abs(a), "float32") / 2,
    )  # fmt: skip
    a, b = (RNG.integers(-50, 50, (9, 33)).astype(dtype) for _ in range(2))
    check(function, queue, a, b + 100 * (b == 0))


def test_truth_values(queue):
    function = lambda x, y: (  # noqa: E731
        F.where(F.logical_and(x > 0, y > 0), x, y), F.logical_xor(x > 0, y > 0), F.any(x > 2, -1),
        F.all(x > -2, -1), F.astype(x > y, "float32") + F.astype(x > 1, "int64"),
    )  # fmt: skip
    check(function, queue, NUMBERS, NUMBERS[::-1].copy())


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 2), (0, 1, 2)])
def test_reductions_along_any_axes(dim, queue):
    def function(x):
        centered = x - F.mean(x, dim, keepdim=True)
        return F.sum(centered * centered, dim), F.amax(x, dim), F.amin(-x, dim) * 2

    check(function, queue, NUMBERS)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_first_greatest_elements(dim, queue):
    x = np.round(NUMBERS)
    x[3, 2, 7] = x[4, 2, 7] = np.nan
    check(lambda x: (F.argmax(x, dim), F.argmin(x, dim), F.amax(x, dim)), queue, x)


def test_normalizations_read_rows_again(queue):
    function = lambda x: (F.log_softmax(x * 3, -1), F.softmax(x * 2 + 1, 1))  # noqa: E731
    check(function, queue, NUMBERS)


def test_gathers_of_elements_and_of_rows(queue):
    function = lambda x, i: (  # noqa: E731
        F.take_along_dim(x[0], i[:5] % 5, 0) * 2, F.index_select(x, 0, F.abs(i[:, 0]) % 6) + 1,
    )  # fmt: skip
    check(function, queue, NUMBERS, INDICES)


def test_slices_are_joined_by_rows_and_groups_of_rows(queue):
    function = lambda x: (  # noqa: E731
        F.cat([x[:, 2:], x[:, :2]], 1), F.cat([x[:, :4:2, :10], x[:, 1:4:2, 20:30]], -1),
    )  # fmt: skip
    check(function, queue, NUMBERS)


def test_rectified_numbers_keep_nan(queue):
    x = NUMBERS.copy()
    x[0, 0, :3] = np.nan, np.inf, -np.inf
    check(lambda x, s: (F.relu(x * s + 1), F.relu(x) - (x <= 0) * s), queue, x, x[1, 1])


@pytest.mark.parametrize(("n", "k"), [(320, 320), (320, 90), (500, 20)])
def test_rows_that_kernels_cannot_count_are_sorted_by_numpy(n, k, queue):
    x = dpnp.asarray(np.round(RNG.standard_normal((1, n)), 1).astype("f4"), sycl_queue=queue)
    compiled = sycl_dnn.compile(lambda x: F.topk(x, k))
    values, indices = map(dpnp.asnumpy, compiled(x))
    expected = np.argsort(-dpnp.asnumpy(x), -1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(dpnp.asnumpy(x), expected, -1))
    assert "dpnp" not in [p.row for p in compiled.explain(x).parts]
