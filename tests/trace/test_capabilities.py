# SPDX-License-Identifier: Apache-2.0
"""The reported capabilities of a device agree with its primitives."""

import numpy as np
import pytest
from arithmetic import lacks, product_of_integers

from sycl_dnn.trace.capabilities import multiplies, saturates


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_dtype_that_is_multiplied_is_added(engine, queue, dtype):
    short = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[dtype]
    assert multiplies(engine, dtype) is not lacks(queue, short)


def test_integers_saturate_or_not_but_those_of_seven_bits_never(engine, queue):
    if not queue.sycl_device.is_cpu:
        assert not saturates(engine)
        return
    rng = np.random.default_rng(0)
    a = rng.integers(200, 256, (8, 64)).astype(np.uint8)
    b = rng.choice([-1, 1], (1, 32)) * rng.integers(100, 128, (64, 32))
    for factors, is_right in ((b, not saturates(engine)), (np.clip(b, -64, 64), True)):
        actual = product_of_integers(queue, a, factors.astype(np.int8))
        assert (actual == a.astype(np.int32) @ factors.astype(np.int32)).all() == is_right
