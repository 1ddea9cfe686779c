# SPDX-License-Identifier: Apache-2.0
"""Functions of generated kernels: angles, exponentials, rounding, remainders, logic."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.on_device import to_device, to_numpy
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
    of_words("atan2", Spec((3, 5)), Spec((5,), "positive")),
    of_words("fmod", Spec((3, 5)), Spec((5,), "positive")),
    of_words("fmod-number", Spec((3, 5)), 0.7),
    Case("number-fmod", F.fmod, (2.3, Spec((3, 5), "positive")),
         torch=lambda a, b: b.new_tensor(a).fmod(b)),
    of_words("remainder", Spec((3, 5)), Spec((3, 1), "positive")),
    Case("remainder-bf16", F.remainder, (Spec((3, 5)), 0.75), dtype="bfloat16",
         torch=of_torch("remainder"), has_gradient=False),
    Case("floor-divide", F.floor_divide, (Spec((3, 5)), Spec((5,), "positive")),
         torch=lambda a, b: a.div(b, rounding_mode="floor")),
]  # fmt: skip
TestCases = checked(CASES, sweep=8)


@pytest.mark.parametrize(("decimals", "expected"), [(1, [1.2, -2.3, 1234]), (-2, [0, 0, 1200])])
def test_rounding_to_decimals(decimals, expected, queue):
    x = dpnp.asarray([1.25, -2.345, 1234.0], dtype="f4", sycl_queue=queue)
    np.testing.assert_allclose(F.round(x, decimals=decimals).asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "slope"), [("tan", lambda y: 1 + y * y), ("expm1", lambda y: 1 + y)]
)
def test_gradients_of_narrow_floats_read_the_result(name, slope, queue):
    """As PyTorch's: recomputing the function takes several times as long."""
    x = to_device(np.linspace(-1.2, 1.2, 999, dtype=np.float32), "bfloat16", queue)
    y, pullback = sycl_dnn.vjp(getattr(F, name), x)
    y, dx = to_numpy(y), pullback(y)[0]
    expected = to_numpy(to_device(y * slope(y), "bfloat16", queue))
    np.testing.assert_array_equal(to_numpy(dx), expected)
