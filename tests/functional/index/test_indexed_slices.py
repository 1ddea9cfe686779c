# SPDX-License-Identifier: Apache-2.0
"""Slices, masks and flat indices: index_copy, take, masked_scatter, slice_scatter, ..."""

import dpnp
import numpy as np
from functional.case import Spec
from functional.checks import checked
from functional.named import of_words

import sycl_dnn
from sycl_dnn import functional as F

X, COLUMNS, K = Spec((3, 5)), Spec((3, 2)), Spec((2,), "places", high=5)


CASES = [
    of_words("index_add", X, 1, K, COLUMNS, alpha=2), of_words("index_copy", X, 1, K, COLUMNS),
    of_words("index_add-bf16", X, -1, K, COLUMNS, dtype="bfloat16", alpha=-0.5),
    of_words("index_copy-bf16", X, -1, K, COLUMNS, dtype="bfloat16"),
    of_words("index_fill", X, 1, K, 2.5), of_words("index_fill-array", X, 1, K, Spec(())),
    of_words("take", X, Spec((2, 4), "integer", high=15)),
    of_words("masked_scatter", X, Spec((5,), "integer", high=2, dtype="bool"), Spec((4, 4))),
    of_words("slice_scatter", X, COLUMNS, 1, 1, 5, 2), of_words("slice_scatter-rows", X, X),
    of_words("select_scatter", X, Spec((5,)), 0, -1),
    of_words("select_scatter-1", X, Spec((3,)), 1, 2),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_indices_from_the_end_and_out_of_range(queue):
    x = dpnp.asarray([1.0, 2.0, 3.0], dtype="f4", sycl_queue=queue)
    index = dpnp.asarray([-1, 7], sycl_queue=queue)
    np.testing.assert_array_equal(F.take(x, index).asnumpy(), [3, np.nan])
    assert F.index_fill(x, 0, index, 9).asnumpy().tolist() == [1, 2, 9]
    assert F.index_copy(x, 0, index, x[:2]).asnumpy().tolist() == [1, 2, 3]
    few = F.masked_scatter(x, x > 0, x[:2] * 2).asnumpy()
    np.testing.assert_array_equal(few, [2, 4, np.nan])
    assert F.slice_scatter(x, x[:0], 0, 3).asnumpy().tolist() == [1, 2, 3]


def test_a_filled_value_is_read_once_by_each_element():
    x, index = F.zeros(3, 2), F.tensor([1, 1, 1], dtype="int64")
    value, pullback = sycl_dnn.vjp(lambda v: F.index_fill(x, 0, index, v), F.ones())
    assert float(pullback(F.ones(3, 2))[0]) == 2
    _, tangent = sycl_dnn.jvp(lambda v: F.index_fill(x, 0, index, v), (F.ones(),), (F.ones(),))
    assert tangent.tolist() == value.tolist() == [[0, 0], [1, 1], [0, 0]]
