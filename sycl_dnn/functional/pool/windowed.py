# SPDX-License-Identifier: Apache-2.0
"""Arbitrary pooling windows as dense pooling over strided pieces of the input.

oneDNN has optimized implementations of dense pooling only. Dilated windows, and adaptive windows
with varying sizes, repeat periodically along an axis, so they decompose into a few sets of equal
dense windows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn._core import algorithm, prop_kind
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.conv.windows import (
    Axis,
    Sizes,
    Span,
    assembled,
    check_counts,
    cut_all,
    padded,
    per_axis,
)
from sycl_dnn.functional.index.selected import selected
from sycl_dnn.ir.node import Node
from sycl_dnn.kernels.window_maxima import maxima, maxima_gradient
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.selection import gather, place
from sycl_dnn.trace.gradients import Grads, backward, rule_for, transposed
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


def check_dtype(name: str, x: Tensor, integers: tuple[str, ...] = ()) -> None:
    """Raise TypeError unless the input is floating point or one of ``integers``."""
    if not x.is_float and x.dtype not in integers:
        allowed = "".join(f" or {n}" for n in integers)
        raise TypeError(f"{name}: input must have a floating-point dtype{allowed}, got {x.dtype}")


def pool_windows(
    name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any
) -> tuple[list[Axis], Sizes]:
    """Return the windows on each axis and their number."""
    rank = x.ndim - 2
    kernel = per_axis(name, "kernel_size", kernel, rank)
    is_default = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if is_default else per_axis(name, "stride", stride, rank)
    padding = per_axis(name, "padding", padding, rank, 0)
    dilation = per_axis(name, "dilation", dilation, rank)
    axes = [
        Axis(*a) for a in zip(x.shape[2:], kernel, stride, padding, padding, dilation, strict=True)
    ]
    if any(2 * a.left > a.kernel for a in axes):
        raise ValueError(
            f"{name}: padding must be at most half of kernel_size {kernel}, got {padding}"
        )
    counts = tuple(a.count(bool(ceil)) for a in axes)
    check_counts(name, axes, counts)
    return axes, counts


# --- Decomposition into dense pooling


class Run(NamedTuple):
    """Equal dense windows on one axis: their source, geometry and target."""

    source: Span
    window: Axis
    target: Span


def _run(source: Span, kernel: int, stride: int, left: int, target: Span) -> Run:
    """Return a run that covers no more of ``source`` than its windows need.

    A remainder of less than a stride is tolerated: cropping it would cost a copy, in the gradient
    too.
    """
    reach = (target.length - 1) * stride + kernel - left
    length = source.length if source.length < reach + stride else reach
    window = Axis(length, kernel, stride, left, max(reach - length, 0))
    return Run(source._replace(length=length), window, target)


def plain_runs(axis: Axis, count: int) -> list[Run]:
    """Return the runs of ``count`` windows, which may be dilated."""
    # Windows that start at the same offset modulo the dilation read every n-th element.
    n_phases = min(axis.dilation // math.gcd(axis.stride, axis.dilation), count)
    stride = axis.stride * n_phases // axis.dilation if n_phases < count else 1
    results = []
    for phase in range(n_phases):
        first = phase * axis.stride - axis.left
        start = first if first >= 0 else first % axis.dilation
        source = Span(start, -(-(axis.size - start) // axis.dilation), axis.dilation)
        target = Span(phase, -(-(count - phase) // n_phases), n_phases)
        left = (start - first) // axis.dilation
        results.append(_run(source, axis.kernel, stride, left, target))
    return results


def adaptive_runs(size: int, count: int) -> list[Run]:
    """Return the runs of windows [floor(i * size / count), ceil((i + 1) * size / count))."""
    repeats = math.gcd(size, count)
    n_phases, stride = count // repeats, size // repeats
    results = []
    for phase in range(n_phases):
        start, end = phase * size // count, -(-(phase + 1) * size // count)
        target = Span(phase, repeats, n_phases)
        results.append(_run(Span(start, size - start), end - start, stride, 0, target))
    return results


def _pool(x: Tensor, kind: algorithm, runs: Sequence[Run], propagation: Any) -> dict[str, Tensor]:
    windows = [r.window for r in runs]
    shape = (*x.shape[:2], *(r.target.length for r in runs))
    params: dict[str, Any] = {
        "algorithm": kind,
        "strides": tuple(w.stride for w in windows),
        "kernel": tuple(w.kernel for w in windows),
        "dilation": (0,) * len(windows),
        "padding_l": tuple(w.left for w in windows),
        "padding_r": tuple(w.right for w in windows),
    }

    def by_primitive() -> dict[str, Tensor]:
        out = {"dst": Out(shape, x.dtype, "channels_last")}
        return x.trace.primitive(
            "pooling_forward",
            {"src": x},
            out,
            ask={"src": "channels_last"},
            prop_kind=propagation,
            **params,
        )

    if kind is not algorithm.pooling_max:
        return by_primitive()
    return maxima(x, shape, params, propagation is prop_kind.forward_training, by_primitive)


def pooled(
    x: Tensor, kind: algorithm, axes: Sequence[Sequence[Run]], with_indices: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return the pooled (N, C, *S) and, if requested, the flat indices of the maxima."""
    propagation = x.trace.forward_kind if x.is_float else prop_kind.forward_inference
    if with_indices:
        propagation = prop_kind.forward_training
    run_sets = list(itertools.product(*axes))
    # Leave room for the last step of every piece: see ``assembled``.
    sizes = x.shape[2:]
    steps = [runs[0].source.step for runs in axes]
    x = padded(x, [-n % s for n, s in zip(sizes, steps, strict=True)])
    parts = cut_all(x, [[r.source for r in runs] for runs in run_sets])
    results = [_pool(p, kind, runs, propagation) for p, runs in zip(parts, run_sets, strict=True)]
    counts = tuple(sum(r.target.length for r in runs) for runs in axes)
    shape = (*x.shape[:2], *counts)
    targets = [[r.target for r in runs] for runs in run_sets]
    dst = results[0]["dst"]
    if len(run_sets) > 1:
        pairs = [(result["dst"], t) for result, t in zip(results, targets, strict=True)]
        dst = assembled(x.trace, shape, pairs)
    if not with_indices:
        return dst, None
    workspaces = [result["workspace"] for result in results]
    return dst, _flat_indices(sizes, shape, run_sets, workspaces)


def _flat_indices(
    sizes: Sizes, shape: Sizes, run_sets: Sequence[Sequence[Run]], workspaces: Sequence[Tensor]
) -> Tensor:
    """Return PyTorch's flat spatial index of each maximum.

    oneDNN's workspace stores the index within the window.
    """
    trace, operands, cuts = workspaces[0].trace, [], []
    for runs, workspace in zip(run_sets, workspaces, strict=True):
        starts, steps = _tables(runs, sizes)
        operands += [
            _as_integers(workspace),
            trace.literal(starts[None, None], "int64"),
            trace.literal(steps.reshape((1,) * (len(shape) - 1) + (-1,)), "int64"),
        ]
        targets = [(r.target.start, r.target.step, r.target.length) for r in runs]
        cuts.append(((0, 1, shape[0]), (0, 1, shape[1]), *targets))

    def definition(*nodes: Node) -> Node:
        result = None
        for cut, index_in_window, starts, steps in zip(
            cuts, *(nodes[n::3] for n in range(3)), strict=True
        ):
            flat = starts + gather(steps, [cast(index_in_window, "int64")], (len(shape) - 1,))
            placed = place(flat, cut, shape)
            result = placed if result is None else result + placed
        assert result is not None
        return result

    return computed(definition, *operands)


def _as_integers(workspace: Tensor) -> Tensor:
    """Return the workspace, labeled as bytes, as the integers that it contains."""
    desc = workspace.desc
    name = dtypes.NAMES[desc.data_type]
    return Tensor(workspace.trace, workspace.storage, desc, name, desc.dims)


def _tables(runs: Sequence[Run], sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat start index of each window, and the flat offsets of its elements."""
    starts, elements = np.zeros((), np.int64), np.zeros((), np.int64)
    for axis, (source, window, target) in enumerate(runs):
        inner = math.prod(sizes[axis + 1 :])
        first = np.arange(target.length) * window.stride - window.left
        start = (source.start + first * source.step) * inner
        starts = starts[..., None] + start
        elements = elements[..., None] + np.arange(window.kernel) * source.step * inner
    return starts, elements.ravel()


def _flat_maxima_indices(workspace: Tensor, sizes: Sizes, shape: Sizes, params: Any) -> Tensor:
    """Return the flat indices of a dense pooling's maxima, given its parameters."""
    names = ("kernel", "strides", "padding_l", "padding_r")
    runs = []
    for i, size in enumerate(sizes):
        window = Axis(size, *(params[n][i] for n in names))
        runs.append(Run(Span(0, size), window, Span(0, shape[i + 2])))
    return _flat_indices(sizes, shape, [runs], [workspace])


@rule_for("pooling_forward")
def _pooled(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    if entry.params["algorithm"] is algorithm.pooling_max:
        dy, workspace = grads["dst"], entry.outputs["workspace"]
        result = maxima_gradient(entry.inputs["src"], dy, _as_integers(workspace), entry.params)
        if result is not None:
            rule = lambda slope: {"dy": _at_maxima(slope, dy, workspace, entry.params)}  # noqa: E731
            return {"src": trace.closed({"dy": dy}, lambda: result, rule)}
    return backward(trace, "pooling_backward", entry, grads)


@rule_for("pooling_backward")
def _pooling(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    if entry.params["algorithm"] is not algorithm.pooling_max:
        return transposed(trace, entry, grads, needed)
    dy, workspace = entry.inputs["diff_dst"], entry.inputs["workspace"]
    return {"diff_dst": _at_maxima(grads["diff_src"], dy, workspace, entry.params)}


def looked_up(values: Tensor, flat_indices: Tensor) -> Tensor:
    """Record the gathering of elements of (N, C, *S) by flat indices (N, C, *T)."""
    rows, indices = (
        reshape(t, (*t.shape[:2], math.prod(t.shape[2:]))) for t in (values, flat_indices)
    )
    return reshape(selected(rows, indices, 2), flat_indices.shape)


def _at_maxima(x: Tensor, dy: Tensor, workspace: Tensor, params: Any) -> Tensor:
    """Gather ``x`` at the maxima of the windows, in the dtype of the gradient ``dy``."""
    indices = _flat_maxima_indices(workspace, x.shape[2:], dy.shape, params)
    return converted(looked_up(x, indices), dy.dtype)
