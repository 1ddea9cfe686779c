# SPDX-License-Identifier: Apache-2.0
"""Small recorded operations that many functions and gradients need."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Out


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that NumPy's rules broadcast to; ValueError if they do not fit."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    made = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise ValueError(f"shapes must broadcast together, got {', '.join(map(str, shapes))}")
        made.append(wide.pop() if wide else 1)
    return tuple(made)


def binary(kind: algorithm, a: Tensor, b: Tensor, dtype: str | None = None) -> Tensor:
    """Apply a binary primitive with broadcasting; the layout follows the larger operand."""
    shape = broadcast_shape(a.shape, b.shape)
    a, b = (expand_rank(t, len(shape)) for t in (a, b))
    like = a if a.shape == shape else b if b.shape == shape else "row_major"
    made = a.trace.primitive(
        "binary",
        {"src_0": a, "src_1": b},
        {"dst": Out(shape, dtype or a.dtype, like)},
        ask={"src_0": a, "src_1": b},
        algorithm=kind,
    )
    return made["dst"]


def add(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum of two tensors."""
    return binary(algorithm.binary_add, a, b)


def mul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of two tensors, element by element."""
    return binary(algorithm.binary_mul, a, b)


def linear_map(x: Tensor, scale: float, shift: float = 0.0) -> Tensor:
    """Return ``scale * x + shift``."""
    made = x.trace.primitive(
        "eltwise_forward",
        {"src": x},
        {"dst": Out(x.shape, x.dtype, x)},
        ask={"src": x},
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.eltwise_linear,
        alpha=float(scale),
        beta=float(shift),
    )
    return made["dst"]


def reduce(kind: algorithm, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor:
    """Reduce over ``axes``, which stay with size 1."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    if shape == x.shape and kind is algorithm.reduction_sum:
        return x if dtype is None else x.trace.convert(x, dtype)
    made = x.trace.primitive(
        "reduction",
        {"src": x},
        {"dst": Out(shape, dtype or x.dtype)},
        ask={"src": x},
        algorithm=kind,
    )
    return made["dst"]


def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` summed over the axes along which ``shape`` was broadcast to it."""
    from sycl_dnn.dispatch.views import reshape

    padded = (1,) * (x.ndim - len(shape)) + shape
    axes = [i for i, (n, m) in enumerate(zip(x.shape, padded, strict=True)) if n != m]
    return reshape(reduce(algorithm.reduction_sum, x, axes) if axes else x, shape)


def expand_rank(x: Tensor, rank: int) -> Tensor:
    """Return ``x`` with axes of size 1 in front."""
    from sycl_dnn.dispatch.views import reshape

    return x if x.ndim == rank else reshape(x, (1,) * (rank - x.ndim) + x.shape)


