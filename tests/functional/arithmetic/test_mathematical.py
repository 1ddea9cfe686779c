# SPDX-License-Identifier: Apache-2.0
"""Functions of generated kernels: angles, exponentials, rounding, remainders, logic."""

import math

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

#: By name: values in the domain.
_ANY = ("sin", "cos", "atan", "sinh", "cosh", "asinh", "exp2", "expm1", "erf", "erfc")
SMOOTH = {
    **dict.fromkeys(_ANY, "normal"), **dict.fromkeys(("tan", "asin", "acos", "atanh"), "unit"),
    **dict.fromkeys(("acosh", "log1p", "log2", "log10", "rsqrt"), "positive"),
}  # fmt: skip
#: Transforms that map values into the domain.
BEFORE = {"acosh": lambda x: x + 1, "atanh": lambda x: x / 2}
STEPS = ("floor", "ceil", "trunc", "sign", "round")


def _smooth(name, shape, layout="plain", dtype="float32"):
    values = SMOOTH[name]
    before = BEFORE.get(name, lambda x: x)
    function = getattr(F, name)
    return Case(
        f"{name}-{layout}",
        (lambda x: function(before(x))) if name in BEFORE else function,
        (Spec(shape, values, layout=layout),), dtype=dtype, slack=2.0 if values == "unit" else 1.0,
        torch=lambda x: of_torch(name)(before(x)),
    )  # fmt: skip


def _step(name, dtype="float32"):
    return Case(
        name, getattr(F, name), (Spec((3, 5), "distinct"),), torch=of_torch(name),
        dtype=dtype,
    )  # fmt: skip


CASES = [
    *(_smooth(name, (3, 5)) for name in SMOOTH),
    *(_smooth(name, (4, 6), how) for name in ("sin", "erf") for how in ("strided", "transposed")),
    *(_smooth(name, (3, 5), dtype="bfloat16") for name in ("sin", "cos", "erf", "log1p")),
    *(_step(name) for name in STEPS),
    Case("atan2", F.atan2, (Spec((3, 5)), Spec((5,), "positive")),
         torch=of_torch("atan2")),
    Case("fmod", F.fmod, (Spec((3, 5)), Spec((5,), "positive")), torch=of_torch("fmod")),
    Case("fmod-number", F.fmod, (Spec((3, 5)), 0.7), torch=of_torch("fmod")),
    Case("number-fmod", F.fmod, (2.3, Spec((3, 5), "positive")),
         torch=lambda a, b: b.new_tensor(a).fmod(b)),
    Case("remainder", F.remainder, (Spec((3, 5)), Spec((3, 1), "positive")),
         torch=of_torch("remainder")),
    Case("remainder-bf16", F.remainder, (Spec((3, 5)), 0.75), dtype="bfloat16",
         torch=of_torch("remainder"), has_gradient=False),
    Case("floor-divide", F.floor_divide, (Spec((3, 5)), Spec((5,), "positive")),
         torch=lambda a, b: a.div(b, rounding_mode="floor")),
]  # fmt: skip
TestCases = checked(CASES, sweep=8)


nan, inf = math.nan, math.inf
#: By function: both operands, and torch's gradients of them for 1.
OF_TWO = {
    "atan2": (
        ([0, -0.0, 0, 1, 3e38, inf, 1, 0], [0, 0, -0.0, 0, 3e38, 1, -inf, -1]),
        ([0, 0, 0, 0, 0, 0, nan, -1], [0, 0, 0, -1, 0, nan, 0, 0]),
    ),
    "pow": (
        (
            [nan, nan, -inf, -5, -2, -2, 0, 0, 0, -0.0, 2, 1],
            [1, 0, 1, 3, 0, 0.5, 0, 2, -1, -1, 3, nan],
        ),
        (
            [1, 0, 1, 75, 0, nan, 0, 0, -inf, -inf, 12, nan],
            [nan, nan, nan, nan, nan, nan, 0, 0, -inf, inf, 8 * math.log(2), 0],
        ),
    ),
    "remainder": (
        ([inf, -inf, 5, -5, 1, 1, 0, -2], [1, 1, -inf, 3, inf, 0, 0, 0.5]),
        ([1] * 8, [nan, nan, 1, 2, 0, -inf, nan, 4]),
    ),
    "fmod": (
        ([inf, -inf, 5, -5, 1, 1, 0, -2], [1, 1, -inf, 3, inf, 0, 0, 0.5]),
        ([1] * 8, [-inf, inf, 0, 1, 0, -inf, nan, 4]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TWO)
def test_gradients_at_special_values_match_torch(name, queue):
    operands, expected = OF_TWO[name]
    args = [dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in operands]

    def gradients(a, b):
        actual, pullback = sycl_dnn.vjp(getattr(F, name), a, b)
        return pullback(F.ones_like(actual))

    for run in (gradients, sycl_dnn.compile(gradients)):
        for actual, value in zip(run(*args), expected, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(actual), value, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_decimals_and_integers(queue):
    x = dpnp.asarray([1.25, -2.345, 1234.0], dtype="f4", sycl_queue=queue)
    np.testing.assert_allclose(F.round(x, decimals=1).asnumpy(), [1.2, -2.3, 1234.0], rtol=1e-6)
    np.testing.assert_allclose(F.round(x, decimals=-2).asnumpy(), [0, 0, 1200])
    halves = dpnp.asarray([0.5, 1.5, 2.5, -0.5], dtype="f4", sycl_queue=queue)
    for function in (F.round, sycl_dnn.compile(F.round)):
        np.testing.assert_array_equal(function(halves).asnumpy(), [0, 2, 2, 0])
    whole = dpnp.asarray([-7, 0, 7], sycl_queue=queue)
    for name in STEPS:
        assert getattr(F, name)(whole).dtype == whole.dtype
    np.testing.assert_array_equal(F.fmod(whole, 4).asnumpy(), [-3, 0, 3])
    np.testing.assert_array_equal(F.remainder(whole, 4).asnumpy(), [1, 0, 3])
    np.testing.assert_array_equal((whole // 4).asnumpy(), F.floor_divide(whole, 4).asnumpy())
    assert F.sin(whole).dtype == np.float32
