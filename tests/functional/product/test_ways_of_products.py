# SPDX-License-Identifier: Apache-2.0
"""Products of float32 matrices for which CPUs use other algorithms than oneDNN's choice."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace.capabilities import has_avx512

#: Rows, terms and columns around the sizes where another way is taken.
SIZES = [(256, 384, 400), (520, 528, 640), (256, 512, 512), (2, 600, 600), (600, 600, 8)]
SIZES += [(1, 384, 400), (3, 200, 130)]


def _loss(x, w, bias):
    return F.sum(F.square(F.relu(F.linear(x, w, bias))))


def _values(m, k, n, queue):
    rng = np.random.default_rng((m, k, n))
    values = [rng.standard_normal(s) / 8 for s in ((m, k), (n, k), (n,))]
    return values, [dpnp.asarray(v.astype("f4"), sycl_queue=queue) for v in values]


def _expected(x, w, bias):
    y = np.maximum(x @ w.T + bias, 0)
    dy = 2 * y
    return y, (dy @ w, dy.T @ x, dy.sum(0))


@pytest.mark.parametrize("with_compile", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.sweep(2)
def test_linear_and_its_gradients(sizes, with_compile, queue):
    values, operands = _values(*sizes, queue)
    way = sycl_dnn.compile if with_compile else lambda function: function
    y, grads = _expected(*values)
    received = way(lambda *args: F.relu(F.linear(*args)))(*operands)
    np.testing.assert_allclose(dpnp.asnumpy(received), y, rtol=1e-4, atol=1e-5)
    actual = way(sycl_dnn.grad(_loss, argnums=(0, 1, 2)))(*operands)
    for found, expected in zip(actual, grads, strict=True):
        np.testing.assert_allclose(
            dpnp.asnumpy(found), expected, rtol=1e-4, atol=2e-5 * abs(expected).max()
        )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_row_major_weights(sizes, queue):
    """``x @ w`` and the gradients of both, which multiply a transposed matrix."""
    values, provided = _values(*sizes, queue)
    x, w = values[0], values[1].T
    a, b = provided[0], dpnp.asarray(np.ascontiguousarray(w).astype("f4"), sycl_queue=queue)
    received, pullback = sycl_dnn.vjp(F.matmul, a, b)
    np.testing.assert_allclose(dpnp.asnumpy(received), x @ w, rtol=1e-4, atol=1e-5)
    dy = np.random.default_rng(0).standard_normal(received.shape)
    actual = pullback(dpnp.asarray(dy.astype("f4"), sycl_queue=queue))
    for found, expected in zip(actual, (dy @ w.T, x.T @ dy), strict=True):
        np.testing.assert_allclose(
            dpnp.asnumpy(found), expected, rtol=1e-4, atol=2e-5 * abs(expected).max()
        )


def test_the_algorithm_depends_only_on_sizes(queue):
    """Processes that resume a training must round identically."""
    engine = sycl_dnn.onednn.Engine(queue)
    if has_avx512(engine):
        pytest.skip("oneDNN's own choice is taken: GPUs, and CPUs with AVX-512")
    _, args = _values(520, 528, 640, queue)
    found = sycl_dnn.compile(sycl_dnn.grad(_loss, argnums=(0, 1))).explain(*args).parts
    products = [p for p in found if p.row in ("matmul", "inner_product_backward_weights")]
    assert len(products) == 3
    assert all("gemm:jit" in p.implementation for p in products), products
    assert [p.shape for p in found if p.row == "reorder"] == [(640, 528)]


@pytest.mark.cpu  # their implementations
@pytest.mark.parametrize(("rows", "is_gemm"), [(1, True), (16, False)])
def test_one_row_reads_large_weights_by_gemm(rows, is_gemm, queue):
    _, (x, w, bias) = _values(rows, 1280, 640, queue)
    F.linear(x, w, bias)
    with sycl_dnn.profile() as profile:
        F.linear(x, w, bias)
    (record,) = profile.records
    assert record.implementation.startswith("gemm:jit") is is_gemm
