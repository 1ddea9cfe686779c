# SPDX-License-Identifier: Apache-2.0
"""Compiled functions on a GPU: fused, and equal to the functions themselves."""

import sys
import warnings
from pathlib import Path

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

sys.path += [str(Path(__file__).parents[2] / name) for name in ("benchmarks", "examples")]


@pytest.fixture
def ones(gpu):
    return lambda *shape: dpnp.ones(shape, dtype="f4", sycl_queue=gpu)


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_a_convolution_with_all_that_follows(ones, gpu, dtype, has_values):
    w, v = ones(16, 16, 3, 3), ones(16)

    def block(x):
        y = F.batch_norm(F.conv2d(x, w, padding=1), v, v, v, v)
        return F.relu(y + x)

    x = ones(2, 16, 8, 8)
    compiled = sycl_dnn.compile(block, dtype=dtype)
    for _ in range(3):
        result = compiled(x)
        assert result.shape == (2, 16, 8, 8)
    gpu.wait()
    if has_values:
        np.testing.assert_allclose(
            result.asnumpy(), block(x).asnumpy(), rtol=2e-2 if dtype else 1e-5
        )
    report = compiled.explain(x)
    fused = [text for part in report.parts for text in part.fused]
    assert any("in weights" in text for text in fused), str(report)


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_networks(gpu, dtype, has_values):
    from models import bert, gpt

    small = bert.Config(layers=1, width=64, heads=4, inner=128)
    p = {n: dpnp.asarray(v, sycl_queue=gpu) for n, v in bert.random_parameters(small).items()}
    compiled = sycl_dnn.compile(lambda x: bert.forward(p, small, x), dtype=dtype)
    x = dpnp.asarray(np.random.default_rng(0).standard_normal((2, 16, 64)), "f4", sycl_queue=gpu)
    actual = compiled(x)
    assert actual.shape == (2, 16, 64)
    if has_values:
        expected = bert.forward(p, small, x).asnumpy()
        np.testing.assert_allclose(actual.asnumpy(), expected, atol=0.1 if dtype else 1e-4)
    tiny = gpt.Config(layers=1, width=64, heads=4, vocabulary=50)
    q = {n: dpnp.asarray(v, sycl_queue=gpu) for n, v in gpt.random_parameters(tiny).items()}
    step = sycl_dnn.compile(lambda x, k, v: gpt.step(q, tiny, x, k, v), dtype=dtype)
    cache = [dpnp.ones((1, 4, 3, 16), dtype="f4", sycl_queue=gpu)]
    logits, keys, _ = step(dpnp.ones((1, 1, 64), dtype="f4", sycl_queue=gpu), cache, cache)
    gpu.wait()
    assert logits.shape == (1, 50)
    assert keys[0].shape == (1, 4, 4, 16)


def test_cpu_and_gpu_have_separate_programs(ones, cpu):
    compiled = sycl_dnn.compile(lambda x: F.relu(x) * 2.0)
    assert compiled(ones(4)).sycl_queue != compiled(
        dpnp.ones(4, dtype="f4", sycl_queue=cpu)
    ).sycl_queue  # fmt: skip
    assert compiled.cache_info().size == 2


def test_concatenations_of_concatenations(gpu, has_values):
    """oneDNN's concatenation on GPUs writes to wrong places if the rows of its result have gaps."""
    values = [np.full((n, 4), i, "f4") for i, n in enumerate((6, 3, 6, 3), 1)]
    args = [dpnp.asarray(v, sycl_queue=gpu) for v in values]

    @sycl_dnn.compile
    def joined(a, b, c, d):
        return F.cat([F.cat([a, b], 0), F.cat([c, d], 0)], 1)

    actual = joined(*args)
    assert actual.shape == (9, 8)
    if has_values:
        a, b, c, d = values
        expected = np.concatenate([np.concatenate([a, b]), np.concatenate([c, d])], 1)
        np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)


def test_a_destination_with_gaps_is_written(gpu, has_values):
    """oneDNN's copies for GPUs cannot write to all of them."""
    numbers = np.random.default_rng(0).normal(size=(64, 48)).astype("f4")
    x = dpnp.asarray(numbers, sycl_queue=gpu)
    wide = dpnp.zeros((128, 96), dtype="f4", sycl_queue=gpu)
    out = wide[::2, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sycl_dnn.FallbackWarning)
        compiled = sycl_dnn.compile(lambda x: F.sort(x, 0)[0])
        assert compiled(x, out=out) is out
        with pytest.raises(ValueError, match="out must have shape"):
            compiled(x, out=wide[::4, ::2])
    if has_values:
        np.testing.assert_array_equal(dpnp.asnumpy(out), np.sort(numbers, 0))
        assert not dpnp.any(wide[1::2])
