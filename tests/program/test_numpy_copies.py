# SPDX-License-Identifier: Apache-2.0
"""``asnumpy``: arrays of a tree on the host."""

from concurrent.futures import ThreadPoolExecutor

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "i4", "u1", "i1", "?", "c8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (2, 3, 4)])
def test_values_shapes_and_dtypes_are_those_of_asnumpy(dtype: str, shape: tuple[int, ...]) -> None:
    expected = (RNG.normal(size=shape) * 50).astype(dtype)
    copied = sycl_dnn.asnumpy(sycl_dnn.asarray(expected))
    assert isinstance(copied, np.ndarray)
    assert copied.dtype == expected.dtype
    np.testing.assert_array_equal(copied, expected, strict=True)


def test_parts_of_an_array_are_read_where_they_are() -> None:
    values = RNG.normal(size=(4, 6)).astype("f4")
    x = sycl_dnn.asarray(values)
    for part in (np.s_[1:, ::2], np.s_[::-1, 3:], np.s_[2], np.s_[3, 5]):
        np.testing.assert_array_equal(sycl_dnn.asnumpy(x[part]), values[part])
    np.testing.assert_array_equal(sycl_dnn.asnumpy(x.T), values.T)
    np.testing.assert_array_equal(sycl_dnn.asnumpy(dpnp.broadcast_to(x[0], (3, 6)))[2], values[0])


def test_a_copy_is_writable_and_independent_of_the_array() -> None:
    x = F.ones(3)
    copied = sycl_dnn.asnumpy(x)
    copied += 1
    x *= 5
    assert copied.tolist() == [2, 2, 2]
    assert x.asnumpy().tolist() == [5, 5, 5]


def test_a_read_only_array_gives_a_writable_copy() -> None:
    x = dpnp.ones(3, dtype="f4")
    x.flags["W"] = False
    copied = sycl_dnn.asnumpy(x)
    copied[0] = 2
    assert copied.tolist() == [2, 1, 1]


def test_pending_work_of_both_libraries_is_waited_for() -> None:
    x = F.ones(512, 512)
    for _ in range(20):
        product = F.matmul(x, x) * (1 / 512)
        product += 1
        np.testing.assert_array_equal(sycl_dnn.asnumpy(product), np.full((512, 512), 2, "f4"))


def test_trees_keep_their_form_and_what_is_no_array() -> None:
    x, narrow = F.ones(2), F.ones(2).astype("f4")
    host = np.arange(3)
    copied = sycl_dnn.asnumpy({"a": [x, (narrow, 3, None, "text")], "b": host})
    assert copied["a"][0].tolist() == copied["a"][1][0].tolist() == [1, 1]
    assert copied["a"][1][1:] == (3, None, "text")
    assert copied["b"] is host


def test_dtypes_that_numpy_lacks_become_float32() -> None:
    x = F.astype(sycl_dnn.asarray(np.array([1.5, np.nan, -np.inf], "f4")), "bfloat16")
    copied = sycl_dnn.asnumpy([x])[0]
    assert copied.dtype == np.float32
    np.testing.assert_array_equal(copied, np.array([1.5, np.nan, -np.inf], "f4"))


def test_traced_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="asnumpy"):
        sycl_dnn.compile(lambda x: sycl_dnn.asnumpy(x))(F.ones(3))


def test_large_arrays_are_copied_while_other_threads_run() -> None:
    values = RNG.normal(size=(1500, 1000)).astype("f4")
    x = sycl_dnn.asarray(values)
    with ThreadPoolExecutor(4) as threads:
        for copied in threads.map(sycl_dnn.asnumpy, [x] * 16):
            np.testing.assert_array_equal(copied, values)
    np.testing.assert_array_equal(sycl_dnn.asnumpy(x.T), values.T)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "float64"])
@pytest.mark.parametrize("order", [(0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 3, 1)])
def test_arrays_in_any_layout_become_row_major(dtype: str, order: tuple[int, ...]) -> None:
    """Elements are moved in blocks, also every second one, backwards and repeated."""
    x = np.arange(2 * 21 * 33 * 17).reshape(2, 21, 33, 17).astype(dtype)
    turned, expected = sycl_dnn.asarray(x).transpose(order), x.transpose(order)
    for part in (np.s_[:], np.s_[:, ::2, 1:, ::-1]):
        copy = sycl_dnn.asnumpy(turned[part])
        assert copy.flags.c_contiguous or dtype == "float64"
        np.testing.assert_array_equal(copy, expected[part])
    repeated = dpnp.broadcast_to(turned[:1], (3, *turned.shape[1:]))
    np.testing.assert_array_equal(sycl_dnn.asnumpy(repeated), np.repeat(expected[:1], 3, 0))
