# SPDX-License-Identifier: Apache-2.0
"""Memories between guard bytes, which must not change."""

import dpctl.memory
import numpy as np
from dpnp.tensor import usm_ndarray

from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import dtypes

#: Before and after each tensor; a multiple of every alignment.
GUARD = 4096
#: Tensors beyond this are described, but nothing is executed.
MOST_BYTES = 1 << 20


class Guarded:
    """A memory inside a larger allocation; ``intact`` says whether the rest is unchanged."""

    def __init__(self, desc, engine, rng):
        nbytes = max(desc.extent, desc.get_size(0))
        self.nbytes = nbytes
        self.whole = dpctl.memory.MemoryUSMHost(nbytes + 2 * GUARD, queue=engine.sycl_queue)
        self.bytes = np.frombuffer(self.whole, "u1")
        self.bytes[:] = 0xA5
        dtype = dtypes.row_of(desc.data_type).dtype
        self.bytes[GUARD : GUARD + nbytes] = values(desc, dtype, nbytes, rng)
        self.before = self.bytes.copy()
        count = -(-nbytes // dtype.itemsize)
        array = usm_ndarray(
            (count,), dtype=dtype, buffer=self.whole, offset=GUARD // dtype.itemsize
        )
        self.memory = dnnl.Memory(desc, engine, array)

    def intact(self, is_output):
        """Whether all bytes that the execution must not write are unchanged."""
        same = self.bytes == self.before
        if is_output:
            same[GUARD : GUARD + self.nbytes] = True
        return bool(same.all())


def values(desc, dtype, nbytes, rng):
    """Small numbers of the data type, as bytes."""
    if dtype.kind == "f":
        result = rng.uniform(-2, 2, -(-nbytes // dtype.itemsize)).astype(dtype)
    elif desc.data_type is dnnl.data_type.bf16:
        result = dtypes.to_bf16_bits(rng.uniform(-2, 2, -(-nbytes // 2)))
    else:
        result = rng.integers(0, 100, -(-nbytes // dtype.itemsize)).astype(dtype)
    return result.view("u1")[:nbytes]
