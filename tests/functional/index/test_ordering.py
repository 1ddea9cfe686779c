# SPDX-License-Identifier: Apache-2.0
"""Ordering and selection: sort, argsort, topk, unique, nonzero."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((4, 5), "distinct")
CASES = [
    of_words("sort", X),
    of_words("sort-down", X, 0, True),
    of_words("sort-bf16", X, dtype="bfloat16"),
    Case("argsort", F.argsort, (X, 0), torch=of_torch("argsort"), has_gradient=False),
    of_words("topk", X, 2),
    of_words("topk-smallest", X, 3, 0, False),
]
TestCases = checked(CASES, may_be_slow=True)


def test_ties_and_nan(queue):
    values = [2.0, np.nan, 1.0, 2.0, np.inf, -np.inf, 1.0]
    x = dpnp.asarray(values, dtype="f4", sycl_queue=queue)
    assert F.argsort(x).asnumpy().tolist() == [5, 2, 6, 0, 3, 4, 1]
    assert F.argsort(x, descending=True).asnumpy().tolist() == [1, 4, 0, 3, 2, 6, 5]
    largest, places = sycl_dnn.compile(lambda x: F.topk(x, 2))(x)
    np.testing.assert_array_equal(dpnp.asnumpy(largest), [np.nan, np.inf])
    assert dpnp.asnumpy(places).tolist() == [1, 4]
    whole = dpnp.asarray([3, -1, 3], sycl_queue=queue)
    assert F.sort(whole)[0].asnumpy().tolist() == [-1, 3, 3]
    assert F.sort(x[:0])[0].shape == (0,)


@pytest.mark.slow
def test_unique_and_nonzero(queue):
    x = dpnp.asarray([[3.0, 1.0, 3.0], [1.0, 0.0, 3.0]], dtype="f4", sycl_queue=queue)
    values, inverse, counts = F.unique(x, return_inverse=True, return_counts=True)
    assert values.asnumpy().tolist() == [0, 1, 3]
    assert inverse.asnumpy().tolist() == [[2, 1, 2], [1, 0, 2]]
    assert counts.asnumpy().tolist() == [1, 2, 3]
    rows = dpnp.asarray([[1, 2], [0, 1], [1, 2]], sycl_queue=queue)
    assert F.unique(rows, dim=0).asnumpy().tolist() == [[0, 1], [1, 2]]
    narrow = F.unique(F.astype(x, "bfloat16"))
    assert narrow.dtype == "bfloat16"
    assert F.nonzero(x).asnumpy().tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]]
    first, second = F.nonzero(x, as_tuple=True)
    assert (first.asnumpy().tolist(), second.asnumpy().tolist()) == (
        [0, 0, 0, 1, 1],
        [0, 1, 2, 0, 2],
    )
    assert F.nonzero(x[:0]).shape == (0, 2)
    deep = np.random.default_rng(0).random((3, 1, 5, 4)) > 0.5
    places = F.nonzero(dpnp.asarray(deep, sycl_queue=queue))
    np.testing.assert_array_equal(places.asnumpy(), np.argwhere(deep))
    np.testing.assert_array_equal(
        F.argsort(dpnp.asarray([2**40, 5, 2**40, 5], sycl_queue=queue)).asnumpy(), [1, 3, 0, 2]
    )
    for name in ("unique", "nonzero"):
        with pytest.raises(TypeError, match=f"{name}: input must be an array with values"):
            sycl_dnn.compile(lambda x, name=name: getattr(F, name)(x))(x)


#: Rows that are counted, in one part and in several, and rows that dpnp sorts.
SHAPES = {"short": ((3, 40), 1), "columns": ((70, 4), 0), "parts": ((3, 300), 1),
          "long": ((2, 5000), 1), "middle": ((2, 77, 3), 1)}  # fmt: skip


def _special(shape, dtype):
    rng = np.random.default_rng(len(shape))
    a = (rng.normal(size=shape) * 3).astype(dtype)
    if a.dtype.kind == "f":
        places = rng.integers(0, a.size, a.size // 8)
        a.reshape(-1)[places] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], places.size)
    return a


def _first(a, axis, descending, count):
    """Indices in stable order, with NaN as the largest."""
    largest = np.iinfo("int64").max
    distinct = np.unique(a, return_inverse=True)[1].reshape(a.shape)  # NaNs compare equal there
    keys = np.where(a != a, largest, distinct)
    order = np.argsort(-keys if descending else keys, axis, kind="stable")
    return np.take(order, np.arange(count), axis)


@pytest.mark.sweep(9)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_order_is_stable_with_nan_as_the_largest(shape, dtype, queue):
    (sizes, axis), a = SHAPES[shape], _special(SHAPES[shape][0], dtype)
    x = dpnp.asarray(a, sycl_queue=queue)
    for descending in (False, True):
        for count in (1, 20, sizes[axis]):
            values, places = F.topk(x, count, axis, descending)
            expected = _first(a, axis, descending, count)
            np.testing.assert_array_equal(dpnp.asnumpy(places), expected)
            np.testing.assert_array_equal(
                dpnp.asnumpy(values), np.take_along_axis(a, expected, axis)
            )


def test_sorting_does_not_use_dpnp(queue):
    x = dpnp.asarray(_special((2, 5000), "float32"), sycl_queue=queue)
    for function in (lambda x: F.topk(x, 20), lambda x: F.sort(x[:, :100]), F.sort):
        if function is not F.sort or queue.sycl_device.is_cpu:
            assert "dpnp" not in str(sycl_dnn.compile(function).explain(x))
