# SPDX-License-Identifier: Apache-2.0
"""Choices between two tensors by a third, with their gradient."""

from __future__ import annotations

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.broadcasting import (
    axis_order,
    broadcast_shape,
    expand_rank,
    grid,
    laid_out,
    spread,
    untaped,
)
from sycl_dnn.dispatch.gradients import Grads, rule_for
from sycl_dnn.dispatch.ones import filled
from sycl_dnn.dispatch.pointwise import FAST, merged, shown, sizes_of, zeros
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.reductions import sum_to
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.onednn import dtypes


def select(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where ``condition`` (bool) holds, else ``b``; all broadcast."""
    trace = a.trace
    shape = broadcast_shape(condition.shape, a.shape, b.shape)
    dtype = dtypes.promote(a.dtype, b.dtype)
    a, b = trace.convert(a, dtype), trace.convert(b, dtype)
    condition, a, b = (expand_rank(t, len(shape)) for t in (condition, a, b))
    with untaped(trace):
        is_empty = 0 in shape
        made = zeros(trace, shape, dtype) if is_empty else _selected(condition, a, b, shape, dtype)
    inputs = {"src_0": a, "src_1": b, "src_2": condition}
    trace.tape.append(Entry("select", inputs, {"dst": made}))
    return made


def _selected(c: Tensor, a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    full = [t for t in (a, b, c) if t.shape == shape]
    order = axis_order(full[0] if full else None, len(shape))
    a, c, b = spread(a, shape, order), spread(c, shape, order), laid_out(b, order)
    if [p[1] for _, p in merged(shape, order, a, b)] not in FAST:
        b = spread(b, shape, order)
    groups = merged(shape, order, a, b)
    sizes = sizes_of(groups, 0)
    flags = Tensor(c.trace, c.storage, layout.row_major(sizes, "int8"), "int8", sizes, c.offset)
    made = a.trace.primitive(
        "binary",
        {"src_0": grid(a, sizes), "src_1": grid(b, sizes_of(groups, 1)), "src_2": flags},
        {"dst": Out(sizes, dtype)},
        algorithm=algorithm.binary_select,
    )["dst"]
    return shown(made, shape, order, dtype)


@rule_for("select")
def _select(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    dy, condition = grads["dst"], entry.inputs["src_2"]
    nothing = filled(trace, 0.0, (1,) * dy.ndim, dy.dtype)
    found = {}
    if "src_0" in needed:
        found["src_0"] = sum_to(select(condition, dy, nothing), entry.inputs["src_0"].shape)
    if "src_1" in needed:
        found["src_1"] = sum_to(select(condition, nothing, dy), entry.inputs["src_1"].shape)
    return found
