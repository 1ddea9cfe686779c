# SPDX-License-Identifier: Apache-2.0
"""Quantised arrays against integer-exact references; scales are powers of 2, so floats are too."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.quantized_tensor import RANGES, QuantizedTensor


def _array(values, queue, dtype="float32"):
    return dpnp.asarray(np.asarray(values, dtype), sycl_queue=queue)


def _scale_like(shape, rng):
    return 2.0 ** rng.integers(-4, 1, shape)


def _wide(small, shape, axis, group):
    """Return scales or zero points in the shape of the array."""
    if axis is None:
        return np.broadcast_to(small, shape)
    if group is not None:
        return np.repeat(small, group, axis)
    return np.broadcast_to(
        small.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )


def _small_shape(shape, axis, group):
    if axis is None:
        return ()
    if group is None:
        return (shape[axis],)
    return tuple(n // group if i == axis else n for i, n in enumerate(shape))


class Sample:
    """Random integers with scales and zero points, on the host and on the device."""

    def __init__(self, queue, shape, dtype="int8", axis=None, group=None, zero=False, seed=0):
        rng = np.random.default_rng(seed)
        low, high = RANGES[dtype]
        small = _small_shape(shape, axis, group)
        self.integers = rng.integers(low, high + 1, shape)
        self.scale = _scale_like(small, rng)
        self.zero = rng.integers(-3, 4, small) + (low + high) // 2 if zero else np.zeros(small, int)
        self.numbers = _wide(self.scale, shape, axis, group) * (
            self.integers - _wide(self.zero, shape, axis, group)
        )
        data = (
            sycl_dnn.asarray(self.integers, dtype, sycl_queue=queue)
            if dtype.endswith("4")
            else _array(self.integers, queue, dtype)
        )
        zeros = _array(self.zero, queue, "int32") if zero else None
        self.tensor = QuantizedTensor(data, _array(self.scale, queue), zeros, axis, group)


#: Shape, axis, group size.
WAYS = [((3, 8), None, None), ((3, 8), 0, None), ((3, 8), 1, None), ((3, 32), 1, 16),
        ((6, 4), 0, 3), ((2, 3, 4, 6), 1, None), ((1, 2), 0, None), ((8,), 0, 4)]  # fmt: skip


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("shape", "axis", "group"), WAYS)
@pytest.mark.parametrize("dtype", RANGES)
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
    got = F.quantize(_array(x, queue), _array(1.0, queue), None, dtype)
    np.testing.assert_array_equal(to_numpy(got.data), np.clip(np.rint(x), low, high))


@pytest.mark.parametrize("layout", ["channels_last", "transposed", "strided", "reversed"])
def test_layouts(layout, queue):
    x = np.arange(-12.0, 12).reshape(2, 3, 4)
    scale = np.array([1.0, 0.5, 2.0])
    got = F.quantize(to_device(x, "float32", queue, layout), _array(scale, queue), axis=1)
    np.testing.assert_array_equal(dpnp.asnumpy(got.data), np.rint(x / scale[:, None]))


def test_bfloat16(queue):
    x = sycl_dnn.asarray([[1.5, -2.0], [3.0, 4.0]], "bfloat16", sycl_queue=queue)
    for dtype in ("int8", "int4"):
        q = F.quantize(x, _array(0.5, queue), None, dtype)
        back = F.dequantize(q, "bfloat16")
        assert back.dtype == "bfloat16"
        assert back.asnumpy().tolist() == [[1.5, -2.0], [3.0, 3.5 if dtype == "int4" else 4.0]]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("shape", "axis", "group"), WAYS)
@pytest.mark.parametrize("dtype", RANGES)
def test_dynamic_scales_reach_every_element(dtype, shape, axis, group, symmetric, queue):
    if symmetric and dtype.startswith("u"):
        return
    x = np.random.default_rng(1).standard_normal(shape).astype("f4")
    q = F.quantize_dynamic(_array(x, queue), dtype, axis, group, symmetric)
    scale = _wide(dpnp.asnumpy(q.scale), shape, axis, group)
    assert q.scale.shape == _small_shape(shape, axis, group)
    assert (q.zero_point is None) == symmetric
    error = np.abs(dpnp.asnumpy(F.dequantize(q)) - x)
    assert (error <= (0.51 if symmetric else 1.01) * scale).all()


def test_dynamic_scales_of_zeros(queue):
    for symmetric in (True, False):
        q = F.quantize_dynamic(_array(np.zeros((2, 4)), queue), axis=0, symmetric=symmetric)
        assert not dpnp.asnumpy(F.dequantize(q)).any()


def _requantised(numbers, out):
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
        "out_scale": _array(scale, queue),
        "out_zero_point": _array(zero, queue, "int32"),
    }


def _check(got, wanted, out):
    if out is not None:
        assert isinstance(got, QuantizedTensor)
        assert got.dtype == out[0]
        got = got.data
    np.testing.assert_array_equal(to_numpy(got), _requantised(wanted, out))


OUTS = [None, ("int8", 8.0, 0), ("uint8", 16.0, 100)]
KINDS = [(a, w, z) for a in ("int8", "uint8") for w in ("int8", "uint8") for z in (False, True)]


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize(("source", "weights", "zero"), KINDS)
def test_linear_is_exact(source, weights, zero, axis, out, queue, recwarn):
    x = Sample(queue, (2, 5, 24), source, zero=zero)
    w = Sample(queue, (7, 24), weights, axis, zero=zero, seed=1)
    bias = np.arange(-3.0, 4)
    got = F.quantized_linear(x.tensor, w.tensor, _array(bias, queue), **_out(out, queue))
    _check(got, x.numbers @ w.numbers.T + bias, out)
    assert not [r for r in recwarn if r.category is sycl_dnn.ReferenceWarning]


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
    got = F.quantized_matmul(a.tensor, b.tensor._replace(axis=axis))
    _check(got, a.numbers @ b.numbers, None)
    got = F.quantized_matmul(a.tensor, b.tensor, out_dtype="bfloat16")
    assert got.dtype == "bfloat16"
    assert not [r for r in recwarn if r.category is sycl_dnn.ReferenceWarning]


def test_empty_products(queue):
    x, w = Sample(queue, (3, 0)), Sample(queue, (4, 0), seed=1)
    assert not dpnp.asnumpy(F.quantized_linear(x.tensor, w.tensor)).any()
    x, w = Sample(queue, (0, 8)), Sample(queue, (4, 8), seed=1)
    got = F.quantized_linear(x.tensor, w.tensor, out_scale=_array(1.0, queue))
    assert (got.shape, got.dtype) == ((0, 4), "int8")


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
    each = lambda v: (v,) * rank if isinstance(v, int) else v  # noqa: E731
    x = x[None] if lone else x
    pads = [(0, 0), (0, 0), *((p, p) for p in each(padding))]
    x = np.pad(x, pads)
    stride, dilation = each(stride), each(dilation)
    kernel = w.shape[2:]
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    made = np.zeros((x.shape[0], w.shape[0], *sizes))
    per_group, outs = x.shape[1] // groups, w.shape[0] // groups
    for place in np.ndindex(*kernel):
        window = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilation, sizes, stride, strict=True)
        )
        for g in range(groups):
            part = x[(slice(None), slice(g * per_group, (g + 1) * per_group), *window)]
            own = slice(g * outs, (g + 1) * outs)
            made[:, own] += np.einsum("nc...,oc->no...", part, w[(own, slice(None), *place)])
    made += bias.reshape(-1, *(1,) * rank)
    return made[0] if lone else made


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("source", ["int8", "uint8"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_exact(name, source, axis, out, queue, recwarn):
    rank, shape, kernel, options = CONVOLUTIONS[name]
    x = Sample(queue, shape, source, zero=source == "uint8")
    w = Sample(queue, kernel, "int8", axis, seed=1)
    bias = np.arange(kernel[0]) - 2.0
    function = getattr(F, f"quantized_conv{rank}d")
    got = function(x.tensor, w.tensor, _array(bias, queue), **options, **_out(out, queue))
    _check(got, _convolved(x.numbers, w.numbers, bias, rank, **options), out)
    assert not [r for r in recwarn if r.category is sycl_dnn.ReferenceWarning]


def test_frozen_weights_are_packed_once(queue):
    x, w = Sample(queue, (2, 16, 8, 8), "uint8"), Sample(queue, (16, 16, 3, 3), "int8", 0, seed=1)
    frozen = w.tensor._replace(data=sycl_dnn.freeze(w.tensor.data))
    for _ in range(2):
        got = F.quantized_conv2d(x.tensor, frozen)
    assert len(frozen.data.packed) == 1
    _check(got, _convolved(x.numbers, w.numbers, np.zeros(16), 2), None)


#: Axis, group size and zero points of weights that are decompressed.
COMPRESSED = [(None, None, False), (0, None, False), (0, None, True), (1, 16, False), (1, 32, True)]


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize(("axis", "group", "zero"), COMPRESSED)
def test_linear_with_quantised_weights(dtype, axis, group, zero, queue, recwarn):
    w = Sample(queue, (6, 64), dtype, axis, group, zero)
    x = np.random.default_rng(2).integers(-4, 5, (2, 3, 64)).astype("f4")
    bias = np.arange(6.0)
    wanted = x @ w.numbers.T + bias
    frozen = w.tensor._replace(data=sycl_dnn.freeze(w.tensor.data))
    for weight in (w.tensor, frozen, frozen):
        got = F.linear(_array(x, queue), weight, _array(bias, queue))
        np.testing.assert_allclose(dpnp.asnumpy(got), wanted, rtol=1e-5, atol=1e-5)
    narrow = sycl_dnn.asarray(x, "bfloat16", sycl_queue=queue)
    got = F.linear(narrow, w.tensor, _array(bias, queue))
    assert got.dtype == "bfloat16"
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=2e-2, atol=2e-2 * np.abs(wanted).max())
    assert not [r for r in recwarn if r.category is sycl_dnn.ReferenceWarning]


@pytest.mark.parametrize(("axis", "group"), [(None, None), (1, None), (0, 16)])
def test_matmul_with_quantised_weights(axis, group, queue):
    w = Sample(queue, (32, 6), "int8", axis, group)
    x = np.random.default_rng(2).integers(-4, 5, (3, 32)).astype("f4")
    got = F.matmul(_array(x, queue), w.tensor)
    np.testing.assert_allclose(dpnp.asnumpy(got), x @ w.numbers, rtol=1e-5, atol=1e-5)


def test_gradient_through_quantised_weights(queue):
    w = Sample(queue, (6, 32), "int4", 1, 16)
    x, bias = _array(np.ones((3, 32)), queue), _array(np.zeros(6), queue)
    y, pullback = sycl_dnn.vjp(lambda x, b: F.linear(x, w.tensor, b), x, bias)
    grads = pullback(dpnp.ones_like(y))
    np.testing.assert_allclose(dpnp.asnumpy(grads[0]), np.ones((3, 6)) @ w.numbers, rtol=1e-5)
    np.testing.assert_allclose(dpnp.asnumpy(grads[1]), np.full(6, 3.0))


def test_autocast_keeps_decompression(queue):
    w = Sample(queue, (6, 32), "int8", 0)
    x = np.ones((3, 32), "f4")
    with sycl_dnn.autocast("bfloat16"):
        got = F.linear(_array(x, queue), w.tensor)
    np.testing.assert_allclose(dpnp.asnumpy(got), x @ w.numbers.T, rtol=1e-5)


def _with(queue, **changes):
    return Sample(queue, (4, 8)).tensor._replace(**changes)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, q: F.quantize(x, _array([1.0], q), axis=0), ValueError,
         r"quantize: scale must have shape \(4,\)"),
        (lambda x, q: F.quantize(x, _array(1, q, "int32")), TypeError,
         "quantize: scale must have dtype float32"),
        (lambda x, q: F.quantize(x, _array(1.0, q), dtype="int2"), ValueError,
         "quantize: dtype must be one of int8"),
        (lambda x, q: F.quantize(x, _array(1.0, q), group_size=2), ValueError,
         "quantize: axis must be given"),
        (lambda x, q: F.quantize(x, _array(1.0, q), axis=1, group_size=3), ValueError,
         "quantize: group_size must divide"),
        (lambda x, q: F.quantize(x[:, :7], _array(1.0, q), dtype="int4"), ValueError,
         "quantize: the last axis must be even"),
        (lambda x, q: F.quantize_dynamic(x[:0]), ValueError, "quantize_dynamic: input must not be"),
        (lambda x, q: F.dequantize(x), TypeError, "dequantize: input must be a QuantizedTensor"),
        (lambda x, q: F.quantized_linear(_with(q), _with(q, axis=1)), ValueError,
         "quantized_linear: scale of weight must have shape"),
        (lambda x, q: F.quantized_linear(_with(q), _with(q), out_dtype="int8"), ValueError,
         "quantized_linear: out_scale must be given with out_dtype int8"),
        (lambda x, q: F.quantized_linear(_with(q), _with(q), x[0]), ValueError,
         r"quantized_linear: bias must have shape \(4,\)"),
        (lambda x, q: F.quantized_matmul(_with(q), _with(q)), ValueError,
         "quantized_matmul: other must have shape"),
        (lambda x, q: F.quantized_conv2d(_with(q), _with(q)), ValueError,
         "quantized_conv2d: input must have 4 or 3 axes"),
        (lambda x, q: F.linear(x, _with(q, axis=1, group_size=4)), ValueError,
         "linear: scale of weight must have shape"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(call, error, words, queue):
    with pytest.raises(error, match=words):
        call(_array(np.ones((4, 8)), queue), queue)
