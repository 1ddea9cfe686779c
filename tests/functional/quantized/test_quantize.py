# SPDX-License-Identifier: Apache-2.0
"""Quantization and dequantization, with given and dynamic scales."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy
from functional.samples import Sample, array, small_shape, wide

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.quantized.quantize import RANGES

#: Shape, axis, group size.
WAYS = [((3, 8), None, None), ((3, 8), 0, None), ((3, 8), 1, None), ((3, 32), 1, 16),
        ((6, 4), 0, 3), ((2, 3, 4, 6), 1, None), ((1, 2), 0, None), ((8,), 0, 4)]  # fmt: skip


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("shape", "axis", "group"), WAYS)
@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.sweep(3)
def test_dequantize_and_quantize(dtype, shape, axis, group, zero, queue):
    sample = Sample(queue, shape, dtype, axis, group, zero)
    numbers = F.dequantize(sample.tensor)
    np.testing.assert_array_equal(dpnp.asnumpy(numbers), sample.numbers)
    t = sample.tensor
    again = F.quantize(numbers, t.scale, t.zero_point, dtype, axis, group)
    assert again.dtype == dtype
    np.testing.assert_array_equal(to_numpy(again.data), sample.integers)


@pytest.mark.parametrize("dtype", RANGES)
def test_quantize_rounds_and_saturates(dtype, queue):
    low, high = RANGES[dtype]
    x = np.array([-1e4, 1e4, 0.8, -0.8, 2.5, 3.5])
    actual = F.quantize(array(x, queue), array(1.0, queue), None, dtype)
    np.testing.assert_array_equal(to_numpy(actual.data), np.clip(np.rint(x), low, high))


@pytest.mark.parametrize("layout", ["channels_last", "transposed", "strided", "reversed"])
def test_layouts(layout, queue):
    x = np.arange(-12.0, 12).reshape(2, 3, 4)
    scale = np.array([1.0, 0.5, 2.0])
    actual = F.quantize(to_device(x, "float32", queue, layout), array(scale, queue), axis=1)
    np.testing.assert_array_equal(dpnp.asnumpy(actual.data), np.rint(x / scale[:, None]))


def test_bfloat16(queue):
    x = sycl_dnn.asarray([[1.5, -2.0], [3.0, 4.0]], "bfloat16", sycl_queue=queue)
    for dtype in ("int8", "int4"):
        q = F.quantize(x, array(0.5, queue), None, dtype)
        back = F.dequantize(q, "bfloat16")
        assert back.dtype == "bfloat16"
        assert back.asnumpy().tolist() == [[1.5, -2.0], [3.0, 3.5 if dtype == "int4" else 4.0]]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("shape", "axis", "group"), WAYS)
@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.sweep(6)
def test_dynamic_scales_reach_every_element(dtype, shape, axis, group, symmetric, queue):
    if symmetric and dtype.startswith("u"):
        return
    x = np.random.default_rng(1).standard_normal(shape).astype("f4")
    q = F.quantize_dynamic(array(x, queue), dtype, axis, group, symmetric)
    scale = wide(dpnp.asnumpy(q.scale), shape, axis, group)
    assert q.scale.shape == small_shape(shape, axis, group)
    assert (q.zero_point is None) == symmetric
    error = np.abs(dpnp.asnumpy(F.dequantize(q)) - x)
    assert (error <= (0.51 if symmetric else 1.01) * scale).all()


def test_dynamic_scales_of_zeros(queue):
    for symmetric in (True, False):
        q = F.quantize_dynamic(array(np.zeros((2, 4)), queue), axis=0, symmetric=symmetric)
        assert not dpnp.asnumpy(F.dequantize(q)).any()
