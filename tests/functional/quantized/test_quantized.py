# SPDX-License-Identifier: Apache-2.0
"""Products of quantized arrays against integer-exact references."""

import dpnp
import numpy as np
import pytest
from comparing import reference_warnings
from conformance.references import reference
from functional.on_device import to_numpy
from functional.samples import Sample, array

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.quantized.quantize import RANGES, QuantizedTensor


def _requantized(numbers, out):
    if out is None:
        return numbers
    dtype, scale, zero = out
    return np.clip(np.rint(numbers / scale + zero), *RANGES[dtype])


def _out(out, queue):
    if out is None:
        return {}
    dtype, scale, zero = out
    return {
        "out_dtype": dtype,
        "out_scale": array(scale, queue),
        "out_zero_point": array(zero, queue, "int32"),
    }


def _check(actual, expected, out):
    if out is not None:
        assert isinstance(actual, QuantizedTensor)
        assert actual.dtype == out[0]
        actual = actual.data
    np.testing.assert_array_equal(to_numpy(actual), _requantized(expected, out))


OUTS = [None, ("int8", 8.0, 0), ("uint8", 16.0, 100)]
KINDS = [(a, w, z) for a in ("int8", "uint8") for w in ("int8", "uint8") for z in (False, True)]


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize(("source", "weights", "zero"), KINDS)
@pytest.mark.sweep(3)
def test_linear_is_exact(source, weights, zero, axis, out, queue, recwarn):
    x = Sample(queue, (2, 5, 24), source, zero=zero)
    w = Sample(queue, (7, 24), weights, axis, zero=zero, seed=1)
    bias = np.arange(-3.0, 4)
    actual = F.quantized_linear(x.tensor, w.tensor, array(bias, queue), **_out(out, queue))
    _check(actual, x.numbers @ w.numbers.T + bias, out)
    assert not reference_warnings(recwarn, queue)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 16), (16, 5)),
        ((4, 3, 16), (4, 16, 5)),
        ((4, 3, 16), (16, 5)),
        ((2, 1, 3, 16), (4, 16, 5)),
    ],
)
@pytest.mark.parametrize("axis", [None, -1])
def test_matmul_is_exact(shapes, axis, queue, recwarn):
    a = Sample(queue, shapes[0], "uint8", zero=True)
    b = Sample(queue, shapes[1], "int8", None if axis is None else len(shapes[1]) - 1, seed=1)
    actual = F.quantized_matmul(a.tensor, b.tensor._replace(axis=axis))
    _check(actual, a.numbers @ b.numbers, None)
    actual = F.quantized_matmul(a.tensor, b.tensor, out_dtype="bfloat16")
    assert actual.dtype == "bfloat16"
    assert not reference_warnings(recwarn, queue)


def test_empty_products(queue):
    x, w = Sample(queue, (3, 0)), Sample(queue, (4, 0), seed=1)
    assert not dpnp.asnumpy(F.quantized_linear(x.tensor, w.tensor)).any()
    x, w = Sample(queue, (0, 8)), Sample(queue, (4, 8), seed=1)
    actual = F.quantized_linear(x.tensor, w.tensor, out_scale=array(1.0, queue))
    assert (actual.shape, actual.dtype) == ((0, 4), "int8")


CONVOLUTIONS = {
    "1d": (1, (2, 6, 11), (8, 6, 3), {"padding": 1}),
    "2d": (2, (2, 6, 7, 9), (8, 6, 3, 3), {"padding": 1, "stride": 2}),
    "2d-grouped": (2, (2, 6, 7, 9), (8, 3, 3, 2), {"groups": 2, "dilation": 2}),
    "2d-depthwise": (2, (2, 16, 7, 9), (16, 1, 3, 3), {"groups": 16, "padding": 1}),
    "2d-one-image": (2, (3, 7, 9), (5, 3, 1, 1), {}),
    "3d": (3, (1, 4, 5, 6, 7), (3, 4, 2, 3, 3), {"padding": (0, 1, 1)}),
}


def _convolved(x, w, bias, rank, stride=1, padding=0, dilation=1, groups=1):
    lone = x.ndim == rank + 1
    params = {
        "strides": np.broadcast_to(stride, rank), "dilates": np.broadcast_to(dilation, rank) - 1,
        "padding_l": np.broadcast_to(padding, rank), "padding_r": np.broadcast_to(padding, rank),
    }  # fmt: skip
    w = w.reshape(groups, -1, *w.shape[1:])
    arrays = {"src": x[None] if lone else x, "weights": w, "bias": bias}
    result = reference("convolution_forward", params, arrays)["dst"]
    return result[0] if lone else result


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("source", ["int8", "uint8"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.sweep(3)
def test_convolutions_are_exact(name, source, axis, out, queue, recwarn):
    rank, shape, kernel, options = CONVOLUTIONS[name]
    x = Sample(queue, shape, source, zero=source == "uint8")
    w = Sample(queue, kernel, "int8", axis, seed=1)
    bias = np.arange(kernel[0]) - 2.0
    function = getattr(F, f"quantized_conv{rank}d")
    actual = function(x.tensor, w.tensor, array(bias, queue), **options, **_out(out, queue))
    _check(actual, _convolved(x.numbers, w.numbers, bias, rank, **options), out)
    assert not reference_warnings(recwarn, queue)


def test_frozen_weights_are_packed_once(queue):
    x, w = Sample(queue, (2, 16, 8, 8), "uint8"), Sample(queue, (16, 16, 3, 3), "int8", 0, seed=1)
    frozen = w.tensor._replace(data=sycl_dnn.freeze(w.tensor.data))
    for _ in range(2):
        actual = F.quantized_conv2d(x.tensor, frozen)
    # A GPU without a fast kernel for 8-bit integers takes the weights as they are.
    assert len(frozen.data.packed) == queue.sycl_device.is_cpu
    _check(actual, _convolved(x.numbers, w.numbers, np.zeros(16), 2), None)
