# SPDX-License-Identifier: Apache-2.0
"""Recording of scatter kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sycl_dnn.ir.node import Shape
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.index_range import check_span
from sycl_dnn.kernels.launching import launched, units
from sycl_dnn.kernels.scatter import scatter_module, scatter_plan
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import axis_order, readable

#: The operations that are recorded, and how a kernel combines values with elements.
SCATTERS = {
    "scatter": "", "scatter_to_zeros": "", "scatter_add": "add", "add_at": "add",
    "scatter_mul": "mul", "scatter_max": "maximum", "scatter_min": "minimum",
}  # fmt: skip


def scattered(inputs: Sequence[Tensor], axis: int, shape: Shape, combined: str) -> Tensor:
    """Record the writing or combining of values at an index.

    ``inputs``: values and an index: they replace zeros or are added to them, in float32 if they are
    narrower. Or an array, values and an index: they are combined with its elements, or the last
    value for one wins. ``axis``: axis that the index refers to; along others it broadcasts.
    ``shape``: shape of the result. ``combined``: of ``SCATTERS``.
    """
    *base, values, index = inputs
    trace, dtype = values.trace, str(values.dtype)
    if 0 in shape or not values.size:
        return base[0] if base else zeros(trace, shape, dtype)
    if not base and combined and dtypes.is_float(dtype):
        values = trace.convert(values, dtypes.wide(dtype))
    result = _launched(values, index, base, axis, shape, combined)
    return trace.convert(result, dtype)


def _launched(
    values: Tensor, index: Tensor, base: Sequence[Tensor], axis: int, shape: Shape, combined: str
) -> Tensor:
    trace, rank, dtype = values.trace, len(shape), str(values.dtype)
    order = axis_order(base[0] if base else values, rank)
    kept_axes = [k for k in order if k != axis]
    out = Out(shape, dtype, layout.strided(shape, dtype, layout.permuted_strides(shape, order)))
    operands = [readable(t, rank) for t in (index, values, *base)]
    strides = [
        [0 if n == 1 else s for n, s in zip(t.shape, t.strides, strict=True)] for t in operands
    ]
    strides.append(list(out.desc().strides))
    # Positions along the axis are those of the index.
    grid = grid_of(
        [shape[k] for k in kept_axes],
        [[row[k] for k in kept_axes] for row in strides],
    )
    along = [row[axis] for row in strides]
    m = max(operands[0].shape[axis], operands[1].shape[axis])
    for row in strides:
        sizes = [max(shape[axis], m) if k == axis else n for k, n in enumerate(shape)]
        check_span("scatter", 1 + sum((n - 1) * s for n, s in zip(sizes, row, strict=True)))
    plan = scatter_plan(
        grid, along, (shape[axis], m), (dtype, str(index.dtype)),
        combined=combined, is_cpu=trace.is_on_cpu,
        n_processors=units(values),
    )  # fmt: skip
    form = plan.form
    return launched(
        trace, partial(scatter_module, form), form.name, operands, [out], plan.numbers,
        plan.n_groups, form.schedule.n_items, replaced=2 if base else None,
    )[0]  # fmt: skip
