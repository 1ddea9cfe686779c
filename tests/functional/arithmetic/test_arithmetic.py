# SPDX-License-Identifier: Apache-2.0
from contextlib import nullcontext

import dpnp
import numpy as np
import pytest
from arithmetic import lacks
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.on_device import to_device
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace import policy

#: Pairs of shapes: equal, row, column, channels, both repeated, repeated on the left, no axes.
PAIRS = [
    ((3, 5, 7), (3, 5, 7)),
    ((3, 5, 7), (7,)),
    ((3, 5, 7), (3, 1, 1)),
    ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((3, 1, 7), (1, 5, 1)),
    ((5,), (2, 3, 5)),
    ((2, 3, 4, 5), (2, 1, 4, 1)),
    ((), (3, 2)),
    ((0, 3), (3,)),
]
PAIRWISE = {
    **dict.fromkeys(("add", "sub", "mul"), "normal"), **dict.fromkeys(("div", "pow"), "positive"),
    **dict.fromkeys(("maximum", "minimum"), "distinct"),
}  # fmt: skip
SINGLE = {
    **dict.fromkeys(("neg", "exp", "square"), "normal"), "abs": "distinct",
    **dict.fromkeys(("log", "sqrt", "reciprocal"), "positive"),
}  # fmt: skip


def _pair(name, a, b, layout="plain", dtype="float32"):
    values = PAIRWISE[name]
    words = f"{name}-{'x'.join(map(str, a))}-{'x'.join(map(str, b))}-{layout}"
    args = (Spec(a, values, layout=layout), Spec(b, values))
    return Case(words, getattr(F, name), args, torch=of_torch(name), dtype=dtype)


def _single(name, shape, layout="plain", dtype="float32"):
    values = SINGLE[name]
    args = (Spec(shape, values, layout=layout),)
    words = f"{name}-{'x'.join(map(str, shape))}-{layout}"
    return Case(words, getattr(F, name), args, torch=of_torch(name), dtype=dtype)


X = Spec((3, 5))
CASES = [
    *(_pair(name, *PAIRS[0]) for name in PAIRWISE),
    *(_pair("sub", *pair) for pair in PAIRS),
    *(_pair("div", *pair) for pair in PAIRS[1:]),
    *(_pair("mul", (4, 3, 5, 6), (3, 1, 1), how) for how in ("channels_last", "transposed")),
    *(_pair("add", (6, 5), (6, 5), how) for how in ("strided", "reversed", "transposed")),
    *(_pair(name, *PAIRS[1], dtype="bfloat16") for name in PAIRWISE if name != "pow"),
    *(_pair(name, *PAIRS[4], dtype="bfloat16") for name in ("add", "div")),
    *(_single(name, (3, 5, 7)) for name in SINGLE),
    *(_single(name, (4, 6), how) for name in ("exp", "neg") for how in ("strided", "transposed")),
    *(_single(name, (3, 5, 7), dtype="bfloat16") for name in SINGLE),
    _single("sqrt", (0, 3)),
    of_words("add-number", X, 2.5),
    Case("number-sub", F.sub, (2.5, X), torch=lambda a, b: a - b),
    of_words("sub-alpha", X, X, alpha=3),
    of_words("mul-number", X, -3),
    of_words("div-number", X, 3),
    Case("number-div", F.div, (2.0, Spec((3, 5), "positive")),
         torch=lambda a, b: a / b),
    Case("maximum-number", F.maximum, (Spec((4, 6), "distinct"), 0.03),
         torch=lambda a, b: a.clamp(min=b)),
    *(Case(f"pow-{p}", F.pow, (Spec((3, 5), "positive"), p), torch=of_torch("pow"))
      for p in (2, 3.0, 0.5, -1, 0, 1.7)),
    of_words("pow-negative-base", Spec((3, 5), "distinct"), 3),
    of_words("pow-number-pow", 1.5, X),
    of_words("pow-broadcast", Spec((3, 1), "positive"), Spec((5,))),
    Case("where", lambda a, b: F.where(F.gt(a, b), a, b),
         (Spec((3, 4, 5), "distinct"), Spec((4, 1))), torch=of_torch("maximum")),
    Case("where-left", lambda a, b: F.where(F.lt(a, b), a, b),
         (Spec((5,)), Spec((3, 4, 5), "distinct")), torch=of_torch("minimum")),
    Case("where-number", lambda a: F.where(F.gt(a, 0.03), a, -1.0),
         (Spec((3, 4), "distinct"),),
         torch=lambda a: a.where(a > 0.03, -1.0)),
    Case("where-bf16", lambda a, b: F.where(F.gt(a, b), a, b),
         (Spec((3, 4, 5), "distinct"), Spec((4, 1))), dtype="bfloat16",
         torch=of_torch("maximum")),
]  # fmt: skip
TestCases = checked(CASES, sweep=4)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum", "pow"])
def test_integers_are_exact(name, queue):
    a, b = np.array([2**31 - 1, 7, 3]), np.array([5, 2, 3])
    actual = getattr(F, name)(to_device(a, "int64", queue), to_device(b, "int64", queue))
    np.testing.assert_array_equal(
        dpnp.asnumpy(actual),
        getattr(np, {"sub": "subtract", "mul": "multiply"}.get(name, name))(a, b),
    )


def test_an_infinite_gradient_of_a_constant_power_is_nan(queue):
    """As torch, which multiplies by the exponent's slope, 0 at base 0."""
    base, exponent, dy = (
        to_device(np.array(v), "float32", queue)
        for v in ([0.0, 0.0, 2.0], [2.0, 0.0, 1.0], [np.inf] * 3)
    )
    _, pullback = sycl_dnn.vjp(F.pow, base, exponent)
    found = dpnp.asnumpy(pullback(dy)[1])
    np.testing.assert_array_equal(found, np.array([np.nan, np.nan, np.inf], "f4"))


def test_float16_converts_with_one_warning(queue, monkeypatch):
    monkeypatch.setattr(policy, "_warned", set())
    sycl_dnn.cache.clear()
    x = to_device(np.array([[1.0, 2.0], [0.0, 1.0]]), "float16", queue)
    with pytest.warns(sycl_dnn.FallbackWarning) if lacks(queue, "f16") else nullcontext():
        actual = F.matmul(F.add(x, x), x)
    assert actual.dtype == np.float16
    assert actual.tolist() == [[2.0, 8.0], [0.0, 2.0]]


def test_products_with_numbers_keep_the_sign_of_zero(queue):
    x = dpnp.asarray([0.0, -0.0, 2.0], dtype="f4", sycl_queue=queue)
    functions = {
        "neg": (lambda x: F.neg(x), [-0.0, 0.0, -2.0]),
        "mul": (lambda x: F.mul(x, -3.0), [-0.0, 0.0, -6.0]),
        "twice": (lambda x: F.neg(F.mul(x, 3.0)), [-0.0, 0.0, -6.0]),
        "after another": (lambda x: F.neg(F.abs(x)), [-0.0, -0.0, -2.0]),
    }
    for name, (function, expected) in functions.items():
        for call in (function, sycl_dnn.compile(function)):
            actual = dpnp.asnumpy(call(x))
            assert np.signbit(actual).tolist() == np.signbit(expected).tolist(), name
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize(
    ("a", "b", "alpha"),
    [("float32", "int8", -3), ("int32", "int8", 3), ("int64", "int32", 5), ("float32", "bool", 2)],
)
def test_alpha_multiplies_in_the_dtype_of_the_sum(name, a, b, alpha, queue):
    x, y = np.array([1, 2, 3], a), np.array([100, -100, 0], b)
    result = getattr(F, name)(*(dpnp.asarray(v, sycl_queue=queue) for v in (x, y)), alpha=alpha)
    expected = getattr(np, "add" if name == "add" else "subtract")(x, alpha * y.astype(a))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(dpnp.asnumpy(result), expected)


def test_alpha_does_not_round_to_a_narrower_operand(queue):
    x, y = to_device(np.zeros(3), "float32", queue), to_device(np.ones(3), "bfloat16", queue)
    np.testing.assert_array_equal(dpnp.asnumpy(F.add(x, y, alpha=257 / 256)), np.full(3, 257 / 256))
    assert F.add(y, to_device(np.ones(3), "int32", queue), alpha=0.5).dtype == "bfloat16"


def test_out_of_a_dtype_that_onednn_lacks(queue):
    x, y = (dpnp.ones(3, dtype=d, sycl_queue=queue) for d in ("int8", "uint8"))
    out = dpnp.empty(6, dtype="int16", sycl_queue=queue)[::2]
    assert F.add(x, y, out=out) is out
    assert out.tolist() == [2, 2, 2]
