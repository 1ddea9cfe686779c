# SPDX-License-Identifier: Apache-2.0
"""Take tensors apart: split, chunk, narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sycl_dnn.dispatch import layout, views
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.axes import check_axis, checked_int
from sycl_dnn.functional.joining import join

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array


def pieces(x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Take a tensor apart into views; their gradients are joined by one primitive."""
    plain = x.trace.plain(x)
    made, start = {}, 0
    for i, size in enumerate(sizes):
        shape = tuple(size if a == axis else n for a, n in enumerate(x.shape))
        made[str(i)] = plain.view(shape, plain.strides, start * plain.strides[axis])
        start += size

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        outs = entry.outputs.items()
        parts = [grads[n] if n in grads else _zeros_like(t) for n, t in outs]
        return {"src": join(parts, axis)}

    x.trace.tape.append(Entry("view", {"src": x}, made, rule=rule))
    return list(made.values())


def _zeros_like(x: Tensor) -> Tensor:
    return x.trace.zeros(layout.like(x.desc, x.dtype), x.shape)


@operation
def split(
    tensor: dpnp.ndarray | Array, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[dpnp.ndarray | Array, ...]:
    """Take an array apart along an axis.

    Parameters
    ----------
    tensor : array (*A, n, *B)
    split_size_or_sections : int or list of int
        Size of each part, the last one smaller if need be, or all sizes.
    dim : int

    Returns
    -------
    tuple of arrays (*A, n_i, *B)
        Copies; inside a traced function views.

    Raises
    ------
    ValueError
        A size is negative, or the sizes do not add up to ``n``.
    """
    axis = check_axis("split", dim, tensor.ndim)
    n = tensor.shape[axis]
    sizes = split_size_or_sections
    if not isinstance(sizes, (tuple, list)):
        size = checked_int("split", "split_size_or_sections", sizes, 0)
        if size == 0 and n:
            raise ValueError("split: split_size_or_sections must be positive, got 0")
        sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    sizes = [checked_int("split", "split_size_or_sections", s, 0) for s in sizes]
    if sum(sizes) != n:
        raise ValueError(f"split: split_size_or_sections must add up to {n}, got {sizes}")
    return tuple(pieces(tensor, axis, sizes))


@operation
def chunk(
    input: dpnp.ndarray | Array, chunks: int, dim: int = 0
) -> tuple[dpnp.ndarray | Array, ...]:
    """Take an array apart into at most ``chunks`` parts of one size, the last one smaller.

    Parameters
    ----------
    input : array (*A, n, *B)
    chunks : int
        At least 1.
    dim : int

    Returns
    -------
    tuple of arrays (*A, n_i, *B)
        Copies; inside a traced function views.

    Raises
    ------
    ValueError
        ``chunks`` is less than 1.
    """
    axis = check_axis("chunk", dim, input.ndim)
    n, chunks = input.shape[axis], checked_int("chunk", "chunks", chunks, 1)
    size = -(-n // chunks)
    sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0] * chunks
    return tuple(pieces(input, axis, sizes))


@operation
def narrow(input: dpnp.ndarray | Array, dim: int, start: int, length: int) -> dpnp.ndarray | Array:
    """Return ``length`` elements along an axis, from ``start``.

    Parameters
    ----------
    input : array (*A, n, *B)
    dim : int
    start : int
        Negative counts from the end.
    length : int

    Returns
    -------
    array (*A, length, *B)
        A copy; inside a traced function a view.

    Raises
    ------
    ValueError
        The elements do not lie inside the axis.
    """
    axis = check_axis("narrow", dim, input.ndim)
    n = input.shape[axis]
    start = checked_int("narrow", "start", start, -n)
    start += n if start < 0 else 0
    length = checked_int("narrow", "length", length, 0)
    if start + length > n:
        raise ValueError(f"narrow: start + length must be at most {n}, got {start + length}")
    return views.narrow(input, axis, start, length)
