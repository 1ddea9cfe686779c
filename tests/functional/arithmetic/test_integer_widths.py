# SPDX-License-Identifier: Apache-2.0
"""Integers that oneDNN lacks are moved and computed by kernels, with NumPy's results."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.program.executable import ArrayCall

DTYPES = ("int16", "uint16", "uint32", "uint64")
#: Functions of ``x`` and ``y`` (3, 4, 5), and NumPy's of ``a`` and ``b``; ``d`` is their dtype.
PAIRS = """
F.add(x, y) | a + b
F.sub(x, 5) | a - d(5)
F.mul(x, y) | a * b
F.maximum(x, y) | np.maximum(a, b)
F.lt(x, y) | a < b
F.clamp(x, 5, 100) | np.clip(a, 5, 100)
F.where(x < y, x, y) | np.where(a < b, a, b)
F.bitwise_and(x, y) | a & b
F.bitwise_not(x) | ~a
F.bitwise_left_shift(x, 3) | a << d(3)
F.bitwise_right_shift(x, 3) | a >> d(3)
F.floor_divide(x, y) | np.where(b == 0, 0, a // np.where(b == 0, 1, b)).astype(d)
F.remainder(x, y) | np.where(b == 0, 0, a % np.where(b == 0, 1, b)).astype(d)
F.pow(x, 3) | a * a * a
F.sign(x) | np.sign(a)
F.matmul(x, F.permute(y, (0, 2, 1))) | a @ b.transpose(0, 2, 1)
F.amax(x, -1) | a.max(-1)
F.argmin(x, -1) | a.argmin(-1)
F.sum(x, 0) | a.sum(0, dtype=wide)
F.prod(x, 1) | a.prod(1, dtype=wide)
F.all(x, 2) | a.all(2)
F.sort(x, -1)[0] | np.sort(a, -1)
F.sort(F.reshape(x, (60,)), descending=True)[0] | np.sort(a, None)[::-1]
F.cat([x, y], 1) | np.concatenate([a, b], 1)
F.flip(x, (2,)) | np.flip(a, 2)
F.permute(x, (2, 0, 1)) | a.transpose(2, 0, 1)
F.tile(x, (1, 2, 1)) | np.tile(a, (1, 2, 1))
F.gather(x, 0, F.zeros_like(x, dtype="int64")) | np.broadcast_to(a[:1], a.shape)
F.scatter_reduce(x, 0, F.zeros_like(x, dtype="int64"), y, "amax")[0] | np.maximum(a[0], b.max(0))
F.channel_shuffle(x, 2)[0] | a[0][[0, 2, 1, 3]]
F.zeros_like(x) | np.zeros_like(a)
F.full_like(x, 7) | np.full_like(a, 7)
F.astype(x, "float32") | a.astype("f4")
F.astype(x, "int8") | a.astype("i1")
F.astype(x, "int64") | a.astype("i8")
F.astype(x, "bool") | a.astype(bool)
"""
ROWS = [line.split(" | ") for line in PAIRS.strip().splitlines()]


def numbers(dtype):
    """Return arrays whose first elements are signalling NaN as 16-bit floats, 0 and extremes."""
    rng, limits = np.random.default_rng(1), np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, (3, 4, 5), dtype, endpoint=True) for _ in "ab")
    a.flat[:6] = limits.max, limits.min, 0, 1, 0x7F81, 0x7F81 - 0x8000 & limits.max
    b.flat[:4] = 1, 2, 0, limits.max
    return a, b


def compare(result, expected):
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(dpnp.asnumpy(result), expected)


@pytest.fixture
def without_dpnp(monkeypatch):
    """Let calls of dpnp in programs fail."""

    def run(self, registers, queue, stream):
        raise AssertionError(f"{self._name} is a call of dpnp")

    monkeypatch.setattr(ArrayCall, "run", run)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[text for text, _ in ROWS])
def test_functions_are_kernels(text, expected, dtype, queue, without_dpnp):
    a, b = numbers(dtype)
    wide = "uint64" if dtype == "uint64" else "int64"
    names = {"F": F, "np": np, "a": a, "b": b, "d": np.dtype(dtype).type, "wide": wide}
    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (a, b))
    compare(eval(text, names | {"x": x, "y": y}), eval(expected, names))


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_functions_are_kernels(dtype, queue, without_dpnp):
    a, b = numbers(dtype)

    @sycl_dnn.compile
    def function(x, y):
        turned = F.permute(F.add(x, y), (2, 0, 1))
        return F.cat([turned, F.permute(x, (2, 0, 1))]), F.reshape(turned, (-1,)), x.T

    results = function(*(dpnp.asarray(v, sycl_queue=queue) for v in (a, b)))
    turned = (a + b).transpose(2, 0, 1)
    joined = np.concatenate([turned, a.transpose(2, 0, 1)])
    for result, expected in zip(results, (joined, turned.reshape(-1), a.T), strict=True):
        compare(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_and_conversions_keep_bits(dtype, queue, without_dpnp):
    a, _ = numbers(dtype)
    x = dpnp.asarray(a, sycl_queue=queue)
    compare(F.add(x[:, ::-1], 0), a[:, ::-1])
    compare(F.flatten(x[:, ::2].swapaxes(0, 2)), a[:, ::2].swapaxes(0, 2).reshape(-1))
    floats = dpnp.asarray([1.9, -1.9, 3e4], dtype="f4", sycl_queue=queue)
    signed = np.array([1, -1, 30000], "i8").astype(dtype)
    compare(F.astype(floats, dtype)[::2], signed[::2])


def test_integers_beyond_doubles_sort_exactly(queue, without_dpnp):
    a = np.array([2**64 - 1, 2**63, 2**63 - 1, 0, 2**64 - 2], "u8")
    compare(F.sort(dpnp.asarray(a, sycl_queue=queue))[0], np.sort(a))
    b = np.array([2**32 - 1, 2**31, 2**31 - 1, 0], "u4")
    compare(F.topk(dpnp.asarray(b, sycl_queue=queue), 2)[0], np.sort(b)[:1:-1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", *DTYPES])
@pytest.mark.parametrize(
    "shapes",
    [((5,), (5,)), ((3, 5), (5,)), ((5,), (2, 5, 3)), ((2, 1, 4, 5), (3, 5, 2)), ((0, 5), (5, 2)),
     ((3, 0), (0, 2))],
)  # fmt: skip
def test_products_of_integers_wrap(shapes, dtype, queue, without_dpnp):
    rng = np.random.default_rng(2)
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    kind = "uint8" if dtype == "bool" else dtype
    a, b = (rng.integers(low, high, s, kind, endpoint=True).astype(dtype) for s in shapes)
    compare(F.matmul(*(dpnp.asarray(v, sycl_queue=queue) for v in (a, b))), np.matmul(a, b))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("decimals", [-1, -2, -20])
def test_integers_round_to_tens(dtype, decimals, queue, without_dpnp):
    values = [0, 4, 5, 6, 14, 15, 16, 25, 45, 50, 51, 99, 100]
    values += [-v for v in values] if dtype[0] == "i" else []
    expected = [int(round(v, decimals)) for v in values]
    x = dpnp.asarray(np.array(values, dtype), sycl_queue=queue)
    assert F.round(x, decimals=decimals).tolist() == expected
