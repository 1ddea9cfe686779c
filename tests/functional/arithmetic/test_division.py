# SPDX-License-Identifier: Apache-2.0
"""Rounded quotients; exact ones are tested with the arithmetic."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device, to_numpy
from functional.torch_functions import of_torch

from sycl_dnn import functional as F

MODES = ("floor", "trunc")
PAIRS = [
    (Spec((3, 5)), Spec((3, 5), "positive")),
    (Spec((3, 1, 7), layout="transposed"), Spec((5, 1), "positive")),
    (Spec((4, 6)), 0.3),
    (2.0, Spec((4, 6), "positive")),
    (Spec((0, 3)), Spec((3,), "positive")),
]
CASES = [
    Case(f"div-{i}-{mode}", F.div, pair, {"rounding_mode": mode}, of_torch("div"))
    for mode in MODES
    for i, pair in enumerate(PAIRS)
]
CASES += [CASES[0].as_dtype("bfloat16"), CASES[5].as_dtype("float16")]
TestCases = checked(CASES, sweep=2)


INF = np.inf
#: IEEE arithmetic does not give the rounded quotient of these: 6 // 0.1 is 59.
NUMERATORS = [7.0, -7.0, 1.0, -1.0, 0.0, INF, 3.0, -3.0, 6.0, -0.7, np.nan, -6.0]
DENOMINATORS = [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, INF, INF, 0.1, 0.1, 1.0, 0.1]
FLOORED = [3, -4, INF, -INF, np.nan, np.nan, 0, -1, 59, -7, np.nan, -60]
TRUNCATED = [3, -3, INF, -INF, np.nan, INF, 0, 0, 60, -7, np.nan, -60]


@pytest.mark.parametrize(("mode", "expected"), [("floor", FLOORED), ("trunc", TRUNCATED)])
def test_quotients_near_rounding_boundaries(mode, expected, queue):
    a, b = (to_device(np.array(v), "float32", queue) for v in (NUMERATORS, DENOMINATORS))
    np.testing.assert_array_equal(to_numpy(F.div(a, b, rounding_mode=mode)), expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers(dtype, queue):
    a, b = np.array([7, -7, 7, -7, 6, 0]), np.array([2, 2, -2, -2, 3, 5])
    arrays = [to_device(v, dtype, queue) for v in (a, b)]
    for mode, expected in (("floor", a // b), ("trunc", np.trunc(a / b))):
        actual = F.div(*arrays, rounding_mode=mode)
        assert actual.dtype == dtype
        np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)
    assert F.div(arrays[0], 2, rounding_mode="floor").dtype == dtype
    assert F.div(arrays[0], 2.0, rounding_mode="floor").dtype == np.float32
