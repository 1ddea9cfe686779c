# SPDX-License-Identifier: Apache-2.0
"""Copies between layouts whose innermost axes differ: kernels transpose tiles in registers."""

from __future__ import annotations

from functools import partial

from sycl_dnn._core import MemoryDesc
from sycl_dnn.ir.node import leaf
from sycl_dnn.kernels.elementwise_schedule import Grid, grid_of
from sycl_dnn.kernels.forms import name_of
from sycl_dnn.kernels.fused_reduction import reduction_module
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import launched, units
from sycl_dnn.kernels.node_expressions import expression_of
from sycl_dnn.kernels.reduction_schedule import ReductionGrid, planned
from sycl_dnn.lower.reduction_lowering import schedule_of
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Elements below which a launch costs more than it saves.
_MIN_ELEMENTS = 1 << 18
#: By dtype: that of its bits, and sizes of both innermost axes from which kernels are faster.
_BITS = {
    "float32": ("int32", 64), "int32": ("int32", 64),
    "bfloat16": ("uint16", 16), "float16": ("uint16", 16),
}  # fmt: skip
_CONVERTED = {("float32", "bfloat16"), ("bfloat16", "float32")}


def turned_copy(x: Tensor, desc: MemoryDesc) -> Tensor | None:
    """Record a copy in another layout of the same shape, perhaps between float32 and bfloat16.

    None if oneDNN's reorder is as fast.
    """
    trace, dtypes_of_copy = x.trace, (str(x.dtype), dtypes.NAMES[desc.data_type])
    is_copy = dtypes_of_copy[0] == dtypes_of_copy[1] and dtypes_of_copy[0] in _BITS
    is_large = x.size >= _MIN_ELEMENTS and max(x.desc.size, desc.size) < MAX_SPAN
    is_cpu = trace.is_on_cpu and trace.policy.kernels != "never"
    if not (is_cpu and is_large and (is_copy or dtypes_of_copy in _CONVERTED)):
        return None
    grid = _grid(x.desc, desc)
    least = min(_BITS[dtype][1] for dtype in dtypes_of_copy)
    lanes = None if grid is None else _axis_of_vectors(grid, least)
    if grid is None or lanes is None:
        return None
    kind = _BITS[dtypes_of_copy[0]][0] if is_copy else dtypes_of_copy[0]
    node = leaf("array", desc.dims, kind)
    expression = expression_of([node if is_copy else cast(node, dtypes_of_copy[1])], [node])
    turned = ReductionGrid(grid.sizes, "k" * (len(grid.sizes) - 1) + "r", grid.strides)
    schedule = schedule_of(expression, turned, units(x), is_cpu=True, lanes=lanes)
    plan = planned(expression, turned, schedule, units(x))
    source = Tensor(trace, x.storage, x.desc, kind, desc.dims, x.offset)
    return launched(
        trace, partial(reduction_module, plan.form), name_of(plan.form), [source],
        [Out(x.shape, dtypes_of_copy[1], desc)], plan.numbers, plan.n_groups, 1,
        n_visited=x.size,
    )[0]  # fmt: skip


def _grid(src: MemoryDesc, dst: MemoryDesc) -> Grid | None:
    """Return the axes of a copy in the order of its result; None of layouts of oneDNN's own."""
    if not (src.is_plain and dst.is_plain):
        return None
    order = layout.axes_in_order(dst.dims, dst.strides)
    strides = [[desc.strides[a] for a in order] for desc in (src, dst)]
    return grid_of([dst.dims[a] for a in order], strides)


def _axis_of_vectors(grid: Grid, least: int) -> int | None:
    """Return the innermost axis of the source, if it is long and not innermost in the result."""
    read, written = grid.strides
    *outer, last = range(len(grid.sizes))
    dense = [a for a in outer if read[a] == 1 and grid.sizes[a] >= least]
    return dense[0] if dense and written[last] == 1 and grid.sizes[last] >= least else None
