# SPDX-License-Identifier: Apache-2.0
"""Powers of integers: modulo the width, and of 1 and -1 with negative exponents, as torch's."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

DTYPES = ("int8", "uint8", "int16", "int32", "int64")


def _power(base, exponent, kind):
    """Return a power of Python integers as the dtype has it."""
    if exponent < 0:
        return base ** (exponent & 1) if base in (1, -1) else 0
    bits, wrapped = 8 * kind.itemsize, pow(base, exponent, 2 ** (8 * kind.itemsize))
    return wrapped - 2**bits if kind.kind == "i" and wrapped >= 2 ** (bits - 1) else wrapped


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_wrap_and_negative_exponents_leave_units(dtype, queue):
    limits = np.iinfo(dtype)
    numbers = {-3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 63, 64, limits.min, limits.max, limits.max - 1}
    known = sorted(n for n in numbers if limits.min <= n <= limits.max)
    a, b = (np.array(v, dtype) for v in np.meshgrid(known, known))
    expected = np.vectorize(lambda x, y: _power(int(x), int(y), a.dtype), [dtype])(a, b)
    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (a, b))
    for function in (F.pow, sycl_dnn.compile(lambda x, y: x**y)):
        result = function(x, y)
        assert result.dtype == a.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(result), expected)


@pytest.mark.parametrize("base", [True, 1, -1, 0, 2])
def test_a_number_to_negative_powers(base, queue):
    y = dpnp.asarray(np.array([-3, -2, -1, 0, 3], "i4"), sycl_queue=queue)
    expected = [_power(int(base), n, np.dtype("i4")) for n in (-3, -2, -1, 0, 3)]
    assert dpnp.asnumpy(F.pow(base, y)).tolist() == expected
