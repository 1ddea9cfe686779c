# SPDX-License-Identifier: Apache-2.0
"""Rows in two parts of 8 bits: accuracy, products, and nonfinite rows."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import functional as F
from sycl_dnn.llm.projections import _added, _split, integer_product, to_int8


def rows(m, k):
    result = np.random.default_rng(0).standard_normal((m, k)).astype("f4")
    result[:, 0] *= 50  # a column of large numbers leaves few steps to the others
    result[1:2] = 0
    return result


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("m", "k"), [(1, 64), (2, 16), (5, 37), (33, 8)])
def test_both_parts_together_have_16_bits(queue, dtype, m, k):
    x = F.astype(dpnp.asarray(rows(m, k), sycl_queue=queue), dtype)
    parts, scale = (dpnp.asnumpy(a).astype("f8") for a in _split(x))
    expected = dpnp.asnumpy(F.astype(x, "float32")).astype("f8")
    actual = scale[:, None] * (parts[:m] + parts[m:] / 254)
    assert np.abs(actual - expected).max(1).tolist() <= (scale / 500 + 1e-9).tolist()
    np.testing.assert_allclose(scale, np.abs(expected).max(1) / 127, rtol=1e-6)
    assert np.abs(parts).max() == 127


@pytest.mark.parametrize("has_bias", [True, False])
def test_the_sum_of_parts(queue, has_bias):
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype("f4") for s in ((6, 21), (3,), (21,))]
    high, low = np.split(given[0].astype("f8"), 2)
    expected = (high + low / 254) * given[1][:, None] + (given[2] if has_bias else 0)
    arrays = [dpnp.asarray(a, sycl_queue=queue) for a in given[: 2 + has_bias]]
    actual = dpnp.asnumpy(_added(*arrays))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_products_have_the_error_of_the_weights_only(queue):
    rng = np.random.default_rng(0)
    x, w = rows(7, 96), rng.standard_normal((40, 96)).astype("f4")
    q = to_int8(w, queue)
    near = dpnp.asnumpy(q.data) * dpnp.asnumpy(q.scale)[:, None]
    actual = integer_product(dpnp.asarray(x, sycl_queue=queue), q.data, q.scale, None)
    error = np.abs(dpnp.asnumpy(actual) - x @ near.T).max()
    assert error < 1e-4 * np.abs(x @ w.T).max()


def test_matrices_are_quantized_in_parts_of_rows(queue):
    w = rows(2500, 8)
    q = to_int8(w, queue)
    scale = np.abs(w).max(1, keepdims=True) / 127
    np.testing.assert_allclose(dpnp.asnumpy(q.scale), scale[:, 0], rtol=1e-6, atol=1e-30)
    assert np.abs(dpnp.asnumpy(q.data) * scale - w).max() <= 0.501 * scale.max()


@pytest.mark.parametrize("strange", [np.nan, np.inf])
@pytest.mark.parametrize("at", [3, 18])
def test_nonfinite_rows_give_nan(queue, strange, at):
    x = rows(3, 20)
    x[2, at] = strange
    w = to_int8(np.eye(20, dtype="f4"), queue)
    actual = integer_product(dpnp.asarray(x, sycl_queue=queue), w.data, w.scale, None)
    assert np.isnan(dpnp.asnumpy(actual)).all(1).tolist() == [False, False, True]
