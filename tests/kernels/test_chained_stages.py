# SPDX-License-Identifier: Apache-2.0
"""Launches that read each other's results, as stages of one kernel on CPUs."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy
from kernel_cases import kernels_of, of_nodes, placed

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.ops.shape import SUM, reshape

LAYOUTS = ["row_major", "channels_last"]


def _group_norm(x, w, groups):
    return F.group_norm(x, groups, w, w)


def _expected(x, w, groups):
    rows = x.reshape(x.shape[0], groups, -1).astype(float)
    result = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    w = w.reshape(-1, *[1] * (x.ndim - 2))
    return result.reshape(x.shape) * w + w


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((4, 32, 12, 12), 8), ((2, 64, 40, 40), 32), ((3, 6, 7, 5), 3), ((8, 40, 9, 9), 4)],
)
@pytest.mark.sweep(2)
def test_a_norm_of_groups(queue, shape, groups, layout):
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal(shape) + 3, rng.uniform(0.5, 1.5, shape[1])
    given, vector = placed(x, queue, layout), placed(w, queue)
    result = to_numpy(_group_norm(given, vector, groups))
    np.testing.assert_allclose(result, _expected(x, w, groups), atol=1e-5)


def test_statistics_and_values_are_one_kernel(queue):
    rng = np.random.default_rng(5)
    x = placed(rng.standard_normal((8, 32, 20, 20)), queue)
    w = placed(rng.uniform(0.5, 1.5, 32), queue)
    kernels = kernels_of(_group_norm, x, w, 8, mode="auto") if queue.sycl_device.is_cpu else []
    assert len(kernels) <= 2
    _, pullback = sycl_dnn.vjp(lambda x: F.group_norm(x, 8, w), x)
    if queue.sycl_device.is_cpu:
        assert len(kernels_of(pullback, x, mode="auto")) == 1


def test_nan_stays_in_its_slab(queue):
    x = np.random.default_rng(5).standard_normal((4, 16, 12, 12)).astype("f4")
    x[1, 5, 3, 3], x[2, 0, 0, 0] = np.nan, np.inf
    result = np.isnan(to_numpy(F.group_norm(to_device(x, "float32", queue), 4)))
    spoiled = np.zeros((4, 4), bool)
    spoiled[1, 1] = spoiled[2, 0] = True
    assert (result.reshape(4, 4, -1) == spoiled[..., None]).all()


def _sums_of_all(x):
    """Return a value that no slab can compute alone: it needs the sum over all rows."""
    rows = SUM(x, axes=(1,))
    return x * SUM(reshape(rows, (1, rows.size)), axes=(1,))


def _sums_of_others(x):
    """Return rows scaled by the sums of other rows: slabs read results of other slabs."""
    rows = SUM(x * x, axes=(1,))
    return x * reshape(reshape(rows, (2, rows.size // 2)), rows.shape) + rows


@pytest.mark.parametrize("definition", [_sums_of_all, _sums_of_others])
@pytest.mark.parametrize("shape", [(64, 300), (6, 33), (512, 512)])
def test_stages_that_need_more_than_their_slab(queue, definition, shape):
    x = np.random.default_rng(2).uniform(0, 1, shape).astype("f4")
    result = to_numpy(of_nodes(definition, to_device(x, "float32", queue)))
    rows = x.astype(float).sum(1, keepdims=True)
    squares = (x.astype(float) ** 2).sum(1, keepdims=True)
    expected = x * rows.sum() if definition is _sums_of_all else x * squares + squares
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("step", [-1, 2])
def test_strided_operands(queue, step):
    x = np.random.default_rng(3).standard_normal((6, 12, 10, 16)).astype("f4")
    given = to_device(x, "float32", queue)[::step, :, :, ::step]
    result = to_numpy(F.group_norm(given, 3))
    expected = _expected(x[::step, :, :, ::step], np.ones(12), 3) - 1
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_float16_that_one_stage_reads_and_another_moves_as_bits(queue):
    x = dpnp.asarray([[1, 2], [np.nan, 0], [3, 4]], dtype="f2", sycl_queue=queue)
    values, places = sycl_dnn.compile(lambda x: F.median(x, 0))(x)
    np.testing.assert_array_equal(dpnp.asnumpy(values), [np.nan, 2])
    assert dpnp.asnumpy(places).tolist() == [1, 0]
