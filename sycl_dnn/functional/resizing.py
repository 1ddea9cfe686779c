# SPDX-License-Identifier: Apache-2.0
"""How ``interpolate`` computes: by oneDNN's resampling, copies of pieces, and matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sycl_dnn._core import algorithm, prop_kind
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.pieces import Span, assembled, cut, cut_every
from sycl_dnn.functional.resize_rules import nearest_indices, span_pairs, weights
from sycl_dnn.functional.separable import along_axes
from sycl_dnn.functional.window import Sizes


class Resize(NamedTuple):
    """The sizes of one axis before and after, and input elements per result element."""

    n_in: int
    n_out: int
    scale: float


def _resampled(x: Tensor, kind: algorithm, sizes: Sizes) -> Tensor:
    made = x.trace.primitive(
        "resampling_forward",
        {"src": x},
        {"dst": Out((*x.shape[:2], *sizes), x.dtype, "channels_last")},
        ask={"src": "channels_last"},
        prop_kind=x.trace.forward_kind if x.is_float else prop_kind.forward_inference,
        algorithm=kind,
    )
    return made["dst"]


def _gathered(x: Tensor, axis: int, indices: np.ndarray) -> Tensor:
    """Take elements along one axis of (N, C, *S)."""
    spans = [Span(0, n) for n in x.shape[2:]]
    pieces = span_pairs(indices, x.shape[axis])

    def on_axis(span: Span) -> list[Span]:
        return [span if a == axis else s for a, s in enumerate(spans, start=2)]

    parts = cut_every(x, [on_axis(source) for source, _ in pieces])
    shape = tuple(len(indices) if a == axis else n for a, n in enumerate(x.shape))
    targets = [on_axis(target) for _, target in pieces]
    return assembled(x.trace, shape, list(zip(parts, targets, strict=True)))


def nearest(x: Tensor, axes: list[Resize], exact: bool) -> Tensor:
    """Repeat or drop elements of (N, C, *S) by PyTorch's rules.

    oneDNN rounds as ``nearest-exact`` does but for ties; where each element is repeated equally
    often, all rules agree. Where elements are dropped evenly, a view is enough.
    """
    spans, taken, sizes = [], {}, []
    for number, axis in enumerate(axes, start=2):
        indices = nearest_indices(*axis, exact)
        step = int(indices[1] - indices[0]) if axis.n_out > 1 else 1
        even = indices[0] + step * np.arange(axis.n_out)
        repeated = np.arange(axis.n_out) * axis.n_in // axis.n_out
        span, size = Span(0, axis.n_in), axis.n_out
        if step and step * axis.n_out <= axis.n_in and (indices == even).all():
            span = Span(int(indices[0]), axis.n_out, step)
        elif axis.n_out % axis.n_in or (indices != repeated).any():
            taken[number] = indices
        spans.append(span)
        sizes.append(size)
    x = cut(x, spans)
    for number, indices in taken.items():
        x = _gathered(x, number, indices)
    return x if x.shape[2:] == tuple(sizes) else _resampled(x, algorithm.resampling_nearest, sizes)


def interpolated(
    x: Tensor, axes: list[Resize], cubic: bool, align_corners: bool, antialias: bool
) -> Tensor:
    """Interpolate (N, C, *S) linearly or by cubic polynomials."""
    by_sizes = all(a.n_in == a.n_out or a.scale == a.n_in / a.n_out for a in axes)
    if by_sizes and not (cubic or align_corners or antialias):
        return _resampled(x, algorithm.resampling_linear, tuple(a.n_out for a in axes))
    matrices = {
        number: weights(*axis, cubic, align_corners, antialias)
        for number, axis in enumerate(axes, start=2)
    }
    changing = {
        a: m for a, m in matrices.items() if len(m) != m.shape[1] or (m != np.eye(len(m))).any()
    }
    return along_axes(x, changing) if changing else x
