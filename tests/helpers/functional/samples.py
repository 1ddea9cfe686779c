# SPDX-License-Identifier: Apache-2.0
"""Random integers with scales and zero points; scales are powers of 2, so floats are exact."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn.functional.quantized.quantize import RANGES, QuantizedTensor


def array(values, queue, dtype="float32"):
    return dpnp.asarray(np.asarray(values, dtype), sycl_queue=queue)


def _scale_like(shape, rng):
    return 2.0 ** rng.integers(-4, 1, shape)


def wide(small, shape, axis, group):
    """Return scales or zero points in the shape of the array."""
    if axis is None:
        return np.broadcast_to(small, shape)
    if group is not None:
        return np.repeat(small, group, axis)
    return np.broadcast_to(
        small.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )


def small_shape(shape, axis, group):
    if axis is None:
        return ()
    if group is None:
        return (shape[axis],)
    return tuple(n // group if i == axis else n for i, n in enumerate(shape))


class Sample:
    """Random integers with scales and zero points, on the host and on the device."""

    def __init__(self, queue, shape, dtype="int8", axis=None, group=None, zero=False, seed=0):
        rng = np.random.default_rng(seed)
        low, high = RANGES[dtype]
        small = small_shape(shape, axis, group)
        self.integers = rng.integers(low, high + 1, shape)
        self.scale = _scale_like(small, rng)
        self.zero = rng.integers(-3, 4, small) + (low + high) // 2 if zero else np.zeros(small, int)
        self.numbers = wide(self.scale, shape, axis, group) * (
            self.integers - wide(self.zero, shape, axis, group)
        )
        data = (
            sycl_dnn.asarray(self.integers, dtype, sycl_queue=queue)
            if dtype.endswith("4")
            else array(self.integers, queue, dtype)
        )
        zeros = array(self.zero, queue, "int32") if zero else None
        self.tensor = QuantizedTensor(data, array(self.scale, queue), zeros, axis, group)
