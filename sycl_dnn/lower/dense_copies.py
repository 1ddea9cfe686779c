# SPDX-License-Identifier: Apache-2.0
"""Dense copies of arrays whose strides oneDNN cannot describe, which kernels read."""

from __future__ import annotations

from sycl_dnn.ir.node import leaf
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.node_expressions import Reads
from sycl_dnn.lower.node_lowering import Lowering
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import spread_strides, untaped

#: Dtypes in which elements are moved, by bits: every device has them.
_MOVED = {8: "uint8", 16: "uint16", 32: "int32", 64: "int64"}


def dense_copy(x: Tensor) -> Tensor:
    """Record a row-major copy of a tensor with any strides; not on the tape."""
    bits, shape, strides = dtypes.bits_of(x.dtype), x.shape, tuple(spread_strides(x))
    if bits == 128:
        bits, shape, strides = 64, (*shape, 2), (*(2 * s for s in strides), 1)
    dtype = _MOVED[bits]
    source = Tensor(x.trace, x.storage, x.desc, dtype, shape, x.offset, strides)
    node = leaf("array", shape, dtype)
    grid = grid_of(shape, [strides, layout.row_major_strides(shape)])
    lowering, reads = Lowering(x.trace, {node: source}, {}), Reads([node], [], [])
    with untaped(x.trace):
        (copy,) = lowering.launched([node], reads, [source], [Out(shape, dtype)], grid)
    desc, strides = layout.row_major(x.shape, x.dtype), layout.row_major_strides(x.shape)
    return Tensor(x.trace, copy.storage, desc, x.dtype, x.shape, strides=strides)
