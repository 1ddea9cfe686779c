# SPDX-License-Identifier: Apache-2.0
"""Softmax by generated kernels: values, gradients, special values, along every axis."""

import numpy as np
import pytest
from kernel_cases import TOLERANCE, both_passes, error, host, placed

import sycl_dnn
from sycl_dnn import functional as F

#: Shape, axis, layout: along inner axes, in vectors that are whole, overlap, or are short.
CASES = [
    ((2, 5, 4, 16), 1, "row_major"),
    ((3, 7, 7, 7), 1, "row_major"),
    ((2, 3, 10, 15), 1, "row_major"),
    ((5, 4, 3, 3), 1, "row_major"),
    ((6, 3, 4, 5), 0, "row_major"),
    ((2, 24, 5, 3), 2, "channels_last"),
    ((7, 8), 1, "row_major"),
    ((3, 2, 11), 2, "row_major"),
    ((9, 37), 1, "row_major"),
    ((1, 70000), 1, "row_major"),
    ((2, 24, 3, 3), 1, "channels_last"),
]


def expected(x, dy, axis, is_log):
    """Return the value and the gradient in float64."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    total = powers.sum(axis, keepdims=True)
    y = powers / total
    if is_log:
        value = np.log(powers) - np.log(total)
        return [value, dy - y * dy.sum(axis, keepdims=True)]
    return [y, y * (dy - (y * dy).sum(axis, keepdims=True))]


@pytest.mark.sweep(16)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("shape", "axis", "layout"), CASES)
def test_values_and_gradients(queue, name, shape, axis, layout, dtype):
    rng = np.random.default_rng(0)
    x, dy = (placed(3 * rng.standard_normal(shape), queue, layout, dtype) for _ in range(2))
    result = both_passes(lambda x: getattr(F, name)(x, axis), [x], dy)
    reference = expected(host(x), host(dy), axis, name == "log_softmax")
    for mine, other in zip(result, reference, strict=True):
        assert error(mine, other) < 2 * TOLERANCE[dtype]


@pytest.mark.parametrize("shape", [(24, 4), (64, 1000), (8, 5, 7)])
def test_logarithms_have_float32_accuracy(queue, shape):
    """oneDNN's logarithm would have an error of 1e-5, and so would the gradient."""
    rng = np.random.default_rng(1)
    x, dy = (placed(2 * rng.standard_normal(shape), queue) for _ in range(2))
    value, pullback = sycl_dnn.vjp(lambda x: F.log_softmax(x, 1), x)
    reference = expected(host(x), host(dy), 1, True)
    largest = np.abs(host(dy).sum(1)).max()
    assert np.abs(host(value) - reference[0]).max() < 2e-6
    assert np.abs(host(pullback(dy)[0]) - reference[1]).max() < 1e-6 * (1 + largest)


def test_compiled_functions_keep_the_softmax_primitive_before_products(queue):
    """Attention is recognized by it, and a product makes whole rows NaN."""
    x = placed(np.random.default_rng(2).standard_normal((2, 5, 16)), queue)
    values = placed(np.random.default_rng(3).standard_normal((2, 16, 3)), queue)
    for function, names in (
        (lambda x: F.softmax(x, 1), []),
        (lambda x: F.softmax(x, 2), []),
        (lambda x: F.matmul(F.softmax(x, 2), values), ["softmax_forward"]),
        (lambda x: F.sum(F.matmul(F.softmax(x, 2), values) + F.sum(F.softmax(x, 2))), []),
    ):
        compiled = sycl_dnn.compile(function, passes={"run_on_host": False})
        assert error(host(compiled(x)), host(function(x))) < 1e-6
        assert [p.row for p in compiled.explain(x).parts if "softmax" in p.row] == names


@pytest.mark.parametrize("length", [16, 37, 130, 4096, 4100])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 2e-6), ("bfloat16", 4e-3), ("float16", 1e-3)]
)
@pytest.mark.sweep(4)
def test_exponentials_are_kept_between_passes(queue, dtype, tolerance, length):
    """In the result, of narrow types in local memory up to a length; also beside other results."""
    x = placed(np.random.default_rng(5).standard_normal((5, length)), queue, dtype=dtype)
    powers = np.exp(host(x).astype("f8"))
    reference = powers / powers.sum(1, keepdims=True)

    def both(x):
        y = F.softmax(x, 1)
        return y, F.mul(y, F.sum(F.mul(y, 3.0), 1, keepdim=True)), F.mul(y, 2.0)

    for run in (both, sycl_dnn.compile(both)):
        y, z, twice = (host(a).astype("f8") for a in run(x))
        assert np.array_equal(twice, 2 * y)
        assert np.abs(y - reference).max() < tolerance * reference.max()
        assert np.abs(z - 3 * reference).max() < 6 * tolerance * reference.max()
