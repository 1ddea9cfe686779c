# SPDX-License-Identifier: Apache-2.0
"""Compiled int8 functions: against exact arithmetic, chains, residuals, methods."""

import dpnp
import numpy as np
import pytest
from arithmetic import saturates
from comparing import assert_in_integers, assert_same, slow_parts

import sycl_dnn
from sycl_dnn import functional as F


def _rounded(values, scale, zero, low, high):
    return (np.clip(np.rint(values / scale) + zero, low, high) - zero) * scale


def _as_int8(values):
    return _rounded(values, np.abs(values).max() / 127, 0, -127, 127)


def _as_uint8(values):
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    step = (high - low) / 255
    return _rounded(values, step, np.rint(-low / step), 0, 255)


@pytest.mark.parametrize(("form", "rest"), [(F.linear, ()), (F.conv2d, (1, 1))])
@pytest.mark.parametrize("sign", [dpnp.abs, lambda a: a], ids=["positive", "mixed"])
def test_a_product_is_exact_for_rounded_operands(form, rest, sign, make, queue):
    x, w, b = sign(make(5, 32, *rest)), make(24, 32, *rest), make(24)
    # All weights at the ends of their range: saturation in 16 bits gives large errors.
    w = dpnp.sign(w) * 0.7 + w * 1e-3
    result, _ = sycl_dnn.quantize(sycl_dnn.compile(lambda a: form(a, w, b)), [x])
    actual = dpnp.asnumpy(result(x)).reshape(5, 24)
    values, weights = (dpnp.asnumpy(a).astype(np.float64).reshape(-1, 32) for a in (x, w))
    if result.explain(x).parts[-1].fused:  # in integers
        most = 64 if saturates(queue) else 127
        weights = _rounded(weights, np.abs(weights).max(1, keepdims=True) / most, 0, -most, most)
        is_signed = sign is not dpnp.abs and not saturates(queue)
        values = (_as_int8 if is_signed else _as_uint8)(values)
    assert_in_integers(result.explain(x), queue)
    expected = values @ weights.T + dpnp.asnumpy(b)
    np.testing.assert_allclose(actual, expected, atol=2e-4 * np.abs(expected).max())


FORMS = {
    "conv": (lambda x, w, b: F.conv2d(x, w, b, padding=1), (2, 16, 6, 6), (24, 16, 3, 3), (24,)),
    "grouped": (lambda x, w, b: F.conv2d(x, w, b, groups=2), (2, 16, 6, 6), (24, 8, 1, 1), (24,)),
    "depthwise": (lambda x, w, b: F.conv2d(x, w, b, groups=16), (2, 16, 6, 6), (16, 1, 3, 3),
                  (16,)),
    "turned": (lambda x, w, b: F.conv_transpose2d(x, w, b, 2), (2, 16, 4, 4), (16, 8, 2, 2), (8,)),
    "linear": (F.linear, (3, 5, 16), (24, 16), (24,)),
    "matmul": (lambda x, w, b: F.matmul(x, w) + b, (3, 5, 16), (16, 24), (24,)),
    "strided": (lambda x, w, b: F.conv2d(x, w, b, 2, 1), (1, 3, 9, 9), (8, 3, 3, 3), (8,)),
}  # fmt: skip
SIGNS = {"positive": dpnp.abs, "mixed": lambda a: a, "lopsided": lambda a: F.hardswish(a * 3.0)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(6)
def test_forms(form, sign, dtype, make, queue):
    function, *shapes = FORMS[form]
    x, w, b = (make(*s) for s in shapes)
    x = SIGNS[sign](x)
    compiled = sycl_dnn.compile(lambda a: function(a, w, b), dtype=dtype)
    result, accuracy = sycl_dnn.quantize(compiled, [x])
    assert accuracy[0].relative < 0.02, str(accuracy[0])
    report = result.explain(x)
    assert_in_integers(report, queue)
    assert not slow_parts(report, queue), str(report)


def test_a_chain_with_a_residual_stays_in_integers(make):
    w = [make(16, 16, 1, 1) / 4 for _ in range(4)]

    def block(x):
        x = F.relu(F.conv2d(x, w[0]))
        y = F.relu(F.conv2d(x, w[1]))
        x = F.relu(F.conv2d(y, w[2]) + x)
        return F.conv2d(F.max_pool2d(x, 2), w[3])

    x = make(2, 16, 8, 8)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(block), [x])
    report = result.explain(x)
    assert [p.dtype for p in report.parts if p.row != "reorder"] == ["uint8"] * 4 + ["float32"]
    assert accuracy[0].relative < 0.03
    assert_same(result(x), block(x), 0.1)


def test_a_residual_of_another_type_than_the_result(make):
    """Signed integers added to a sum that relu makes unsigned: some kernels misread them."""
    w = [make(16, 16, 1, 1) / 4 for _ in range(4)]

    def block(x):
        y = F.relu(F.conv2d(x, w[0]))
        x = F.relu(F.conv2d(y, w[1]) + F.conv2d(x, w[2]))
        return F.conv2d(x, w[3])

    x = make(2, 16, 4, 4)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(block), [x])
    assert accuracy[0].relative < 0.03, str(accuracy[0])
    assert_same(result(x), block(x), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [32, 64])
def test_pooling_without_fast_integer_kernels_computes_in_float32(n, make):
    """On GPUs larger images have fast pooling only in float32; quantization did not terminate."""
    w, last = make(64, 3, 7, 7), make(64, 64, 1, 1)

    def stem(x):
        x = F.relu(F.conv2d(x, w, stride=2, padding=3))
        return F.conv2d(F.max_pool2d(x, 3, stride=2, padding=1), last)

    x = make(1, 3, n, n)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(stem), [x])
    assert accuracy[0].relative < 0.03, str(accuracy[0])
    assert_same(result(x), stem(x), 0.1)


def test_other_shapes_use_the_same_ranges(make):
    w, b = make(24, 16, 3, 3), make(24)
    compiled = sycl_dnn.compile(lambda x: F.relu(F.conv2d(x, w, b, padding=1)))
    result, _ = sycl_dnn.quantize(compiled, [make(2, 16, 8, 8), make(1, 16, 8, 8)])
    x = make(3, 16, 5, 7)
    assert_same(result(x), compiled(x), 0.05)
    assert any("x int8" in t for p in result.explain(x).parts for t in p.fused)


def test_percentiles_exclude_outliers(make):
    w, x = make(24, 64, 1, 1), make(2000, 64, 1, 1)
    x[0, 0] = 1000.0
    compiled = sycl_dnn.compile(lambda a: F.conv2d(a, w))
    rest = lambda f: dpnp.asnumpy(f(x))[1:]  # noqa: E731
    errors = {}
    for method in ("minmax", "percentile"):
        result, _ = sycl_dnn.quantize(compiled, [x], method)
        errors[method] = np.abs(rest(result) - rest(compiled)).max()
    assert errors["percentile"] < errors["minmax"] / 10


def test_results_that_are_not_floats_are_compared(make):
    w, x = make(24, 16), make(3, 16)
    scores = lambda x: F.linear(x, w)  # noqa: E731
    levels = lambda x: F.clamp(50 * scores(x) + 128, 0, 255).astype("uint8")  # noqa: E731
    compiled = sycl_dnn.compile(lambda x: (x > 0, levels(x), scores(x)))
    _, accuracy = sycl_dnn.quantize(compiled, [x])
    assert accuracy[0].largest == 0.0
    assert 0.0 < accuracy[1].largest < 0.1


def test_unquantizable_functions_are_reported(make):
    x = make(3, 4)
    with pytest.raises(TypeError, match="compiled must be a Compiled"):
        sycl_dnn.quantize(F.relu, [x])
    compiled = sycl_dnn.compile(lambda a: F.relu(a))
    with pytest.raises(ValueError, match="convolutions or products"):
        sycl_dnn.quantize(compiled, [x])
    with pytest.raises(ValueError, match="one example at least"):
        sycl_dnn.quantize(compiled, [])
    with pytest.raises(ValueError, match="method"):
        sycl_dnn.quantize(compiled, [x], "entropy")
    with pytest.raises(ValueError, match="percentile"):
        sycl_dnn.quantize(compiled, [x], "percentile", percentile=20)


def _skip(w):
    def function(x):
        y = F.relu(F.conv2d(x, w[0], padding=1))
        z = F.conv_transpose2d(F.relu(F.conv2d(F.max_pool2d(y, 2), w[1])), w[2], stride=2)
        return F.conv2d(F.cat([y, z * 3.0], 1), w[3])

    return function


def _joined_dtype(report):
    """Return the dtype of the concatenated values, by a separate step or in place."""
    in_place = "writes its part of a concatenation"
    (dtype,) = {p.dtype for p in report.parts if p.row == "concat" or in_place in p.fused}
    return dtype


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_concatenations_stay_in_integers_of_one_scale(dtype, make):
    shapes = (40, 8, 3, 3), (8, 40, 1, 1), (8, 40, 2, 2), (4, 80, 1, 1)
    function, x = _skip([make(*s) / 4 for s in shapes]), make(2, 8, 8, 8)
    compiled = sycl_dnn.compile(function, dtype=dtype)
    result, accuracy = sycl_dnn.quantize(compiled, [x])
    report = result.explain(x)
    assert _joined_dtype(report) in ("int8", "uint8")
    last = [p.dtype for p in report.parts if p.row != "reorder"][-1]
    assert last != _joined_dtype(report)
    assert accuracy[0].relative < 0.04
    assert_same(result(x), function(x), 0.1)


def test_concatenation_read_in_float_is_computed_in_float(make):
    w, x = [make(8, 8, 1, 1) / 3 for _ in range(3)], make(2, 8, 5, 5)

    def function(a):
        y, z = F.relu(F.conv2d(a, w[0])), F.relu(F.conv2d(a, w[1]))
        return F.softmax(F.cat([y, z], 1), 1), F.conv2d(y, w[2])

    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(function), [x])
    assert _joined_dtype(result.explain(x)) == "float32"
    assert all(a.relative < 0.05 for a in accuracy)


def test_integer_parts_are_written_in_place(make):
    w, x = [make(16, 16) / 4, make(24, 16) / 4, make(8, 40) / 6], make(5, 16)

    def function(a):
        parts = [F.relu(F.linear(a, w[0])), F.gelu(F.linear(a, w[1]))]
        return F.linear(F.cat(parts, 1), w[2])

    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(function), [x])
    report = result.explain(x)
    assert not [p for p in report.parts if p.row == "concat"], str(report)
    assert len({p.dtype for p in report.parts[1:-1]}) == 1, str(report)
    assert accuracy[0].relative < 0.03
