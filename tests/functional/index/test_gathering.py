# SPDX-License-Identifier: Apache-2.0
"""Indexed reads and writes: gather, take_along_dim, index_select, scatter, index_put."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words

import sycl_dnn
from sycl_dnn import functional as F


def torch_put(x, indices, values, accumulate=False):
    return x.index_put(indices, values, accumulate)


def assigned(x, key, values):
    result = x.clone()
    result[key] = values
    return result


def numbers(*shape, high=4):
    return Spec(shape, "integer", high)


def each(*shape, high=4):
    """Distinct indices as far as possible."""
    return Spec(shape, "places", high)


X = Spec((4, 5))
CASES = [
    of_words("gather-rows", X, 0, numbers(3, 5)),
    of_words("gather-columns", X, -1, numbers(2, 7)),
    of_words("gather-strided", Spec((4, 6), layout="strided"), 1, numbers(4, 3)),
    of_words("gather-bf16", X, 1, numbers(4, 3), dtype="bfloat16"),
    of_words("gather-vector", Spec((4,)), 0, numbers(6)),
    of_words("take_along_dim", X, numbers(4, 2), 1),
    of_words("take_along_dim-broadcast", X, numbers(1, 2), 1),
    of_words("take_along_dim-flat", X, numbers(2, 2, high=20)),
    of_words("index_select-rows", X, 0, numbers(6)),
    of_words("index_select-columns", Spec((2, 4, 3)), 1, numbers(6)),
    of_words("scatter", X, 0, each(2, 5), Spec((2, 5))),
    of_words("scatter-number", X, 0, numbers(2, 5), 0.5),
    of_words("scatter_add", X, 0, numbers(6, 5), Spec((6, 5))),
    of_words("scatter_add-columns", X, 1, numbers(4, 9), Spec((4, 9))),
    of_words("scatter_add-bf16", X, 0, numbers(6, 5), Spec((6, 5)), dtype="bfloat16"),
    Case("index-put", F.index_put, (X, (each(3),), Spec((3, 5))), torch=torch_put),
    Case("index-put-pair", F.index_put, (X, (each(4), numbers(4, high=5)), Spec((4,))),
         torch=torch_put),
    Case("index-put-column", lambda x, i, v: F.index_put(x, (None, i), v),
         (X, each(3, high=5), Spec((1, 3))),
         torch=lambda x, i, v: assigned(x, (slice(None), i), v)),
    Case("index-put-apart", lambda x, i, j, v: F.index_put(x, (i, None, j), v),

         (Spec((2, 3, 4)), each(2, high=2), each(2), Spec((2, 3))),
         torch=lambda x, i, j, v: assigned(x, (i, slice(None), j), v)),
    Case("index-put-add", F.index_put, (X, (numbers(7),), Spec((5,)), True),
         torch=torch_put),
]  # fmt: skip
TestCases = checked(CASES, sweep=4, may_be_slow=True)


def test_empty_selections_of_every_dtype(queue):
    """oneDNN has no descriptors of zeros for some of them."""
    for dtype in ("int16", "uint32", "float64", "complex64"):
        x = dpnp.ones((2, 3), dtype=dtype, sycl_queue=queue)
        i = dpnp.zeros((0, 3), dtype="i8", sycl_queue=queue)
        for call in (lambda x, i: F.gather(x, 0, i), lambda x, i: F.index_select(x, 0, i[:, 0])):
            for result in (call(x, i), sycl_dnn.compile(call)(x, i)):
                assert (result.shape, result.dtype) == ((0, 3), dtype)


def test_indices_out_of_range_are_neither_read_nor_written(queue):
    x = dpnp.asarray([1.0, 2.0], dtype="f4", sycl_queue=queue)
    wrong = dpnp.asarray([5, -1, 1], sycl_queue=queue)
    np.testing.assert_array_equal(F.gather(x, 0, wrong).asnumpy(), [np.nan, np.nan, 2])
    values = dpnp.asarray([7.0, 8.0, 9.0], dtype="f4", sycl_queue=queue)
    np.testing.assert_array_equal(F.scatter(x, 0, wrong, values).asnumpy(), [1, 9])
    np.testing.assert_array_equal(F.scatter_add(x, 0, wrong, values).asnumpy(), [1, 11])


def test_masks_take_one_value(queue):
    x = dpnp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype="f4", sycl_queue=queue)
    zero = dpnp.zeros(1, dtype="f4", sycl_queue=queue)
    np.testing.assert_array_equal(F.index_put(x, (x > 2,), zero).asnumpy(), [[1, 2], [0, 0]])
    np.testing.assert_array_equal(F.index_put(x, (x[:, 0] > 2,), zero).asnumpy(), [[1, 2], [0, 0]])


@pytest.mark.parametrize("values", [(2, 3), (3,), (1, 3), (2, 1), ()])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile])
def test_masks_take_a_row_for_each_true_element(values, accumulate, wrap, queue):
    x = np.arange(12, dtype="f4").reshape(2, 2, 3)
    mask, rows = np.array([[True, False], [False, True]]), 1 + np.ones(values, "f4").cumsum()
    rows = rows.reshape(values).astype("f4")
    expected, grads = x.copy(), np.where(mask[..., None], float(accumulate), 1.0) * np.ones_like(x)
    expected[mask] = (x[mask] if accumulate else 0) + rows
    x, mask, rows = (dpnp.asarray(a, sycl_queue=queue) for a in (x, mask, rows))

    def put(x, rows):
        return F.index_put(x, (mask,), rows, accumulate)

    np.testing.assert_array_equal(wrap(put)(x, rows).asnumpy(), expected)
    dx, drows = wrap(sycl_dnn.grad(lambda x, rows: F.sum(put(x, rows)), (0, 1)))(x, rows)
    np.testing.assert_array_equal(dx.asnumpy(), grads)
    np.testing.assert_array_equal(drows.asnumpy(), np.full(values, 6 / max(rows.size, 1)))


def test_masks_with_a_row_too_few_write_nan(queue):
    mask = dpnp.asarray([True, True, True], sycl_queue=queue)
    found = F.index_put(
        F.zeros(3, device=queue), (mask,), dpnp.ones(2, dtype="f4", sycl_queue=queue)
    )
    np.testing.assert_array_equal(found.asnumpy(), [1, 1, np.nan])
    with pytest.raises(ValueError, match="must broadcast to its elements"):
        F.index_put(F.zeros(3, device=queue), (mask,), F.ones(3, 2, device=queue))


def test_negative_indices_of_take_along_dim_count_from_the_end(queue):
    x = dpnp.arange(6, dtype="f4", sycl_queue=queue).reshape(2, 3)
    index = dpnp.asarray([[-1, 0], [1, -3]], sycl_queue=queue)
    assert F.take_along_dim(x, index, 1).tolist() == [[2.0, 0.0], [4.0, 3.0]]
    assert F.take_along_dim(x, index).tolist() == [5.0, 0.0, 1.0, 3.0]
    grad = sycl_dnn.grad(lambda x: F.sum(F.take_along_dim(x, index, 1)))(x)
    assert grad.tolist() == [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
