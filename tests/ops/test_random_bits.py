# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10: the known answers of its authors (kat_vectors of Random123), and uniformity."""

import dpnp
import numpy as np
import pytest

from sycl_dnn.call.operation import operation
from sycl_dnn.ir.node import leaf
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.random_bits import philox, unit_interval
from sycl_dnn.ops.selection import narrow

#: Counters, keys, and what belongs to them.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]  # fmt: skip


@operation
def words(counters, keys):
    def body(counters, keys):
        counter = [narrow(counters, 1, i, 1) for i in range(4)]
        key = [narrow(keys, 1, i, 1) for i in range(2)]
        return tuple(cast(philox(counter, key, i), "int64") for i in range(4))

    return all_computed(body, counters, keys)


def test_the_known_answers():
    counters, keys, expected = (np.array(v, np.uint32) for v in zip(*KNOWN, strict=True))
    result = words(*(dpnp.asarray(v.view(np.int32)) for v in (counters, keys)))
    np.testing.assert_array_equal(np.hstack([dpnp.asnumpy(v) for v in result]), expected)


@operation
def numbers(key, n):
    return computed(lambda key: unit_interval(philox([iota(n)], [key])), key)


def test_numbers_are_uniform_inside_the_interval():
    n = 1 << 16
    result = dpnp.asnumpy(numbers(dpnp.asarray([7], dtype="i4"), n))
    assert result.dtype == np.float32
    assert 0 < result.min() < result.max() < 1
    counts = np.histogram(result, 64, (0, 1))[0]
    statistic = ((counts - n / 64) ** 2 / (n / 64)).sum()
    assert statistic < 63 + 5 * np.sqrt(2 * 63)


@operation
def ends(bits):
    return computed(lambda bits: unit_interval(cast(bits, "uint32")), bits)


def test_no_word_is_0_or_1():
    result = dpnp.asnumpy(ends(dpnp.asarray([0, 1, -1, 2**31 - 1], dtype="i4")))
    expected = np.array([2.0**-33, 1.5 * 2.0**-32, 1 - 2.0**-24, 0.5], np.float32)
    np.testing.assert_array_equal(result, expected)


def test_words_of_floats_are_refused():
    with pytest.raises(TypeError, match="philox: words must be of int32 or uint32, got float32"):
        philox([leaf("x", (3,), "float32")], [])
