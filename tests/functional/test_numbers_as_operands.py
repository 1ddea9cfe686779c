# SPDX-License-Identifier: Apache-2.0
"""Numbers as operands equal arrays of the number, for each dtype, on either side."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace.torch_methods import Size

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float32", "float16"]
NUMBERS = [True, False, 0, 3, -2, 2.5, 0.0, -0.0]
NAMES = [
    "add", "mul", "floor_divide", "remainder", "fmod", "maximum", "minimum", "eq", "ne", "lt", "le",
    "gt", "ge", "logical_and", "logical_or", "logical_xor", "atan2",
]  # fmt: skip
VALUES = np.array([0, 1, 2, 3, 5, 7, 1, 4])
CHOICE = np.array([1, 0, 1, 0, 1, 0, 0, 1], bool)


def fits(number, dtype):
    """Whether the dtype holds the number: others are refused by name."""
    return dtype != "uint8" or isinstance(number, float) or number >= 0


@pytest.mark.sweep(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_number_equals_an_array_of_it(name, dtype, queue):
    x = dpnp.asarray(VALUES.astype(dtype), sycl_queue=queue)
    function = getattr(F, name)
    for number in NUMBERS:
        if not fits(number, dtype):
            continue
        same = F.full(VALUES.shape, number, dtype=str(F.add(x, number).dtype), device=queue)
        for actual, expected in (
            (function(x, number), function(x, same)), (function(number, x), function(same, x)),
        ):  # fmt: skip
            np.testing.assert_array_equal(
                dpnp.asnumpy(actual), dpnp.asnumpy(expected), f"{name} {number!r}"
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sweep(2)
def test_where_accepts_numbers(dtype, queue):
    values = VALUES.astype(dtype)
    x, choice = (dpnp.asarray(v, sycl_queue=queue) for v in (values, CHOICE))
    for number in NUMBERS:
        if not fits(number, dtype):
            continue
        kind = str(F.add(x, number).dtype)
        for actual, expected in (
            (F.where(choice, x, number), np.where(CHOICE, values, number)),
            (F.where(choice, number, x), np.where(CHOICE, number, values)),
        ):
            assert str(actual.dtype) == kind
            np.testing.assert_array_equal(dpnp.asnumpy(actual), expected.astype(kind))
    actual = dpnp.asnumpy(F.where(choice, 3, -5))
    np.testing.assert_array_equal(actual, np.where(CHOICE, 3, -5))


WAYS = {
    "eager": lambda x, k: F.div(x, k),
    "argument": lambda x, k: sycl_dnn.compile(F.div)(x, k),
    "held": lambda x, k: sycl_dnn.compile(lambda x: F.div(x, k))(x),
    "in a tuple": lambda x, k: sycl_dnn.compile(lambda x, pair: F.div(x, pair[0]))(x, (k, 1)),
    "vjp": lambda x, k: sycl_dnn.vjp(lambda x: F.div(x, k), x)[0],
    "NumPy's": lambda x, k: F.div(x, np.float32(k)),
    "of no axes": lambda x, k: F.div(x, np.array(k)),
}


@pytest.mark.parametrize("way", WAYS)
def test_zeros_of_both_signs_are_distinguished(way, queue):
    x = dpnp.asarray(np.float32([1, 2]), sycl_queue=queue)
    for number in (-0.0, 0.0, -0.0):
        actual = dpnp.asnumpy(WAYS[way](x, number))
        np.testing.assert_array_equal(actual, np.copysign(np.inf, [number, number]))


def test_a_number_that_has_a_shape_is_a_number(queue):
    # What ``x.size`` is in a forward, where ``x.size(0)`` is torch's.
    twelve = Size((3, 4))
    x = F.full((3, 4), 2.0, device=queue)
    for function in (F.add, F.sub, F.mul, F.div, F.maximum, F.eq):
        for a, b in ((x, twelve), (twelve, x)):
            c, d = (12 if v is twelve else v for v in (a, b))
            assert dpnp.array_equal(function(a, b), function(c, d))
    assert dpnp.array_equal(F.where(x > 0, twelve, x), F.full((3, 4), 12.0, device=queue))
