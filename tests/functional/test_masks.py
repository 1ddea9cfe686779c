# SPDX-License-Identifier: Apache-2.0
"""Rows of only NaN or infinities in attention masks, softmax and logsumexp, as in torch."""

from functools import partial

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

L, S = 4, 5


def _mask(kind):
    """Return a mask (L, S) whose row 1 is special."""
    if kind == "none":
        mask = np.ones((L, S), bool)
        mask[1] = False
        return mask
    mask = np.random.default_rng(1).standard_normal((L, S)).astype("f4")
    mask[1] = {"lowest": [-np.inf] * S, "some": [0, -np.inf, 0, 0, -np.inf],
               "nan": [0, np.nan, 0, 0, 0], "infinite": [0, 0, np.inf, 0, 0]}[kind]  # fmt: skip
    return mask


def _expected(q, k, v, mask):
    """Return the value in float64, and the gradient of ``v`` if that of the value is 1."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
    weights[:, np.isneginf(scores[0]).all(-1)] = 0
    return weights @ v, np.swapaxes(weights, -1, -2) @ np.ones((*weights.shape[:-1], v.shape[-1]))


def _both(mask):
    def function(*operands):
        value, pullback = sycl_dnn.vjp(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), *operands
        )
        return value, pullback(F.ones_like(value))[2]

    return function


@pytest.mark.sweep(12)
@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["none", "lowest", "some", "nan", "infinite"])
def test_rows_of_masks(queue, kind, dtype, mode):
    rng = np.random.default_rng(0)
    tolerance = {"float32": 1e-5, "bfloat16": 4e-2, "float16": 5e-3}[dtype]
    drawn = [rng.standard_normal((2, n, 8)).astype("f4") for n in (L, S, S)]
    args = [sycl_dnn.asarray(dpnp.asarray(a, sycl_queue=queue), dtype) for a in drawn]
    args[1] = F.transpose(sycl_dnn.asarray(dpnp.asarray(
        np.ascontiguousarray(drawn[1].swapaxes(1, 2)), sycl_queue=queue), dtype), 1, 2)  # fmt: skip
    mask = _mask(kind)
    value, slope = _expected(*drawn, mask)
    function = _both(dpnp.asarray(mask, sycl_queue=queue))
    for run in (function, sycl_dnn.compile(function)):
        with sycl_dnn.nan_mode(mode):
            results = [dpnp.asnumpy(F.astype(a, "float32")) for a in run(*args)]
        np.testing.assert_allclose(results[0], value, rtol=tolerance, atol=tolerance)
        if mode == "propagate" or kind not in ("nan", "infinite"):
            np.testing.assert_allclose(results[1], slope, rtol=tolerance, atol=tolerance)


@pytest.mark.sweep(16)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("number", [-np.inf, np.inf, np.nan])
def test_constant_slices(queue, number, dtype, axis):
    """NaN as a whole, by default; their logarithm of sums is the number, with NaN as gradient."""
    values = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("f4")
    place = tuple(slice(None) if a == axis % 3 else 1 for a in range(3))
    values[place] = number
    for layout in ("row_major", "transposed"):
        array = dpnp.asarray(values, sycl_queue=queue)
        if layout == "transposed":
            array = dpnp.asarray(np.ascontiguousarray(values.T), sycl_queue=queue).transpose()
        x = sycl_dnn.asarray(array, dtype)
        for mode in ("always", "never"):
            with sycl_dnn.kernel_mode(mode):
                for name in ("softmax", "log_softmax", "softmin"):
                    function = partial(getattr(F, name), dim=axis)
                    for run in (function, sycl_dnn.compile(function)):
                        result = dpnp.asnumpy(F.astype(run(x), "float32"))
                        assert np.isnan(result[place]).all(), (name, mode, layout)
                        assert np.isnan(result).sum() == np.isnan(result[place]).size
                total, pullback = sycl_dnn.vjp(lambda x: F.logsumexp(x, axis), x)
                slope = pullback(F.ones_like(total))[0]
                total = dpnp.asnumpy(F.astype(total, "float32"))
                assert np.array_equal(total[1, 1], number, equal_nan=True)
                slope = dpnp.asnumpy(F.astype(slope, "float32"))
                assert np.isnan(slope[place]).all()
                assert np.isnan(slope).sum() == np.isnan(slope[place]).size


def _scores_as_keys(queue, scores):
    """Return a query, keys and values with one feature: the scores of each query are the keys."""
    columns = [np.ones(3), scores, [1.0, 2.0, 4.0]]
    return [
        dpnp.asarray(np.asarray(c, "f4").reshape(1, 1, 3, 1), sycl_queue=queue) for c in columns
    ]


@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("rule", ["causal", "bool", "numbers", "both"])
@pytest.mark.sweep(2)
def test_masked_keys_do_not_replace_scores_of_minus_infinity(queue, rule, mode):
    """A query whose visible scores are all minus infinity gives NaN or 0."""
    seen = np.tril(np.ones((3, 3), bool))
    mask = None
    if rule != "causal":
        mask = seen if rule != "numbers" else np.where(seen, 0, -np.inf).astype("f4")
        mask = dpnp.asarray(mask, sycl_queue=queue)

    def attention(q, k, v):
        causal = rule in ("causal", "both")
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)

    for run in (attention, sycl_dnn.compile(attention)):
        with sycl_dnn.nan_mode(mode):
            result = dpnp.asnumpy(run(*_scores_as_keys(queue, [-np.inf, 0, 0]))).ravel()
        assert np.isnan(result[0]) if mode == "fast" else result[0] == 0
        np.testing.assert_allclose(result[1:], [2, 3], rtol=1e-6)


@pytest.mark.parametrize("score", [np.inf, -np.inf, np.nan])
def test_causal_mask_hides_nonfinite_scores(queue, score):
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    for run in (attention, sycl_dnn.compile(attention)):
        with sycl_dnn.nan_mode("propagate"):
            result = dpnp.asnumpy(run(*_scores_as_keys(queue, [0, 0, score]))).ravel()
        np.testing.assert_allclose(result[:2], [1, 1.5], rtol=1e-6)
        assert np.isnan(result[2]) != (score == -np.inf)


def test_rows_of_lowest_finite_masks_average_all_keys(queue):
    """Scores vanish beside them, so that a row of them is a mean, as in PyTorch."""
    mask = dpnp.full((3, 3), np.finfo("f4").min, dtype="f4", sycl_queue=queue)
    result = F.scaled_dot_product_attention(*_scores_as_keys(queue, [0, 1, 2]), attn_mask=mask)
    np.testing.assert_allclose(dpnp.asnumpy(result).ravel(), [7 / 3] * 3, rtol=1e-6)
