# SPDX-License-Identifier: Apache-2.0
"""Bitwise functions of all pairs of dtypes, and shifts out of range."""

import itertools

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64")
FUNCTIONS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip


def expected(name, a, b):
    """Return NumPy's result, with shifts as torch: out of range only the sign is left."""
    kind = np.promote_types(a.dtype, b.dtype)
    kind = np.dtype("i1") if kind.kind == "b" and "shift" in name else kind
    a, b = a.astype(kind), b.astype(kind)
    if "shift" not in name:
        return FUNCTIONS[name](a, b)
    most = 8 * kind.itemsize - 1
    is_outside = (b < 0) | (b > most)
    result = FUNCTIONS[name](a, np.where(is_outside, 0, b).astype(kind))
    rest = a >> most if name == "bitwise_right_shift" and kind.kind == "i" else 0 * a
    return np.where(is_outside, rest, result)


@pytest.mark.sweep(18)
@pytest.mark.parametrize(
    ("name", "first", "second"), list(itertools.product(FUNCTIONS, DTYPES, DTYPES))
)
def test_bits_of_pairs_of_dtypes(name, first, second, queue):
    rng = np.random.default_rng(1)
    a = rng.integers(-100, 100, (3, 40)).astype(first)
    b = rng.integers(-3, 70, (3, 40)).astype(second)
    x, y = (dpnp.asarray(v, sycl_queue=queue)[:, ::-1] for v in (a, b))
    target = expected(name, a, b)[:, ::-1]
    function = getattr(F, name)
    for call in (function, sycl_dnn.compile(function)):
        actual = call(x, y)
        assert actual.dtype == target.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(actual), target)
