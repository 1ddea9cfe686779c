# SPDX-License-Identifier: Apache-2.0
"""``unfold`` and ``fold``: sliding windows of images as columns, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.conv.windows import extents, per_axis
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, row_major

Pair = tuple[int, int]


class Windows(NamedTuple):
    """The windows of an image."""

    kernel: Pair
    dilation: Pair
    padding: Pair
    stride: Pair

    def counts(self, name: str, size: Sequence[int]) -> Pair:
        """Return the number of windows along each axis.

        Raises
        ------
        ValueError
            No window fits.
        """
        window_extents = extents(self.kernel, self.dilation)
        rows = zip(size, self.padding, window_extents, self.stride, strict=True)
        n_rows, n_columns = ((n + 2 * p - r) // s + 1 for n, p, r, s in rows)
        if min(n_rows, n_columns) < 1:
            raise ValueError(
                f"{name}: kernel_size must fit into the image of {tuple(size)}, got {self.kernel} "
                f"with dilation {self.dilation} and padding {self.padding}"
            )
        return n_rows, n_columns

    def element_views(self, canvas: Tensor, counts: Pair) -> Iterator[Tensor]:
        """Yield the part of the canvas that each kernel element covers."""
        n, c, sh, sw = canvas.strides
        strides = (n, c, sh * self.stride[0], sw * self.stride[1])
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                start = i * self.dilation[0] * sh + j * self.dilation[1] * sw
                yield canvas.view((*canvas.shape[:2], *counts), strides, start)

    def padded(self, size: Sequence[int], counts: Pair) -> Pair:
        """Return the padded image size, enlarged so that oneDNN accepts strided views.

        oneDNN refuses a view if windows times stride exceed the axis.
        """
        rows = zip(size, self.padding, counts, self.stride, strict=True)
        height, width = (max(n + 2 * p, k * s) for n, p, k, s in rows)
        return height, width


def _windows(
    name: str,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    stride: int | Sequence[int],
) -> Windows:
    return Windows(
        _pair(name, "kernel_size", kernel_size),
        _pair(name, "dilation", dilation),
        _pair(name, "padding", padding, 0),
        _pair(name, "stride", stride),
    )


def _pair(name: str, argument: str, value: int | Sequence[int], minimum: int = 1) -> Pair:
    first, second = per_axis(name, argument, value, 2, minimum)
    return first, second


def columns(x: Tensor, windows: Windows, counts: Pair) -> Tensor:
    """Copy each window of (N, C, H, W) into a column of (N, C * kernel, windows)."""
    trace, (n, c, height, width) = x.trace, x.shape
    size = height, width
    canvas, plain = x, trace.plain(x)
    shape: tuple[int, ...] = (n, c, *windows.padded(size, counts))
    if shape != x.shape:
        canvas = trace.zeros(layout.like(plain.desc, x.dtype, shape), shape)
        start = sum(p * s for p, s in zip(windows.padding, canvas.strides[2:], strict=True))
        trace.written_into(canvas, canvas.view(x.shape, canvas.strides, start), plain)
    n_kernel, n_windows = math.prod(windows.kernel), math.prod(counts)
    shape = (n, c * n_kernel, n_windows)
    result = trace.new(layout.row_major(shape, x.dtype))
    strides = (shape[1] * n_windows, n_kernel * n_windows, counts[1], 1)
    for k, source in enumerate(windows.element_views(trace.plain(canvas), counts)):
        target = result.view((n, c, *counts), strides, k * n_windows)
        trace.written_into(result, target, source)
    return trace.view(x, result, lambda g: image(g, windows, counts, size))


def image(x: Tensor, windows: Windows, counts: Pair, size: Pair) -> Tensor:
    """Sum the columns of (N, C * kernel, windows) into images (N, C, *size)."""
    trace, n = x.trace, x.shape[0]
    c = x.shape[1] // math.prod(windows.kernel)
    n_windows = math.prod(counts)
    shape = (n, c, *windows.padded(size, counts))
    canvas = trace.zeros(layout.row_major(shape, "float32"), shape)
    source = row_major(x)
    strides = (x.shape[1] * n_windows, math.prod(windows.kernel) * n_windows, counts[1], 1)
    for k, target in enumerate(windows.element_views(canvas, counts)):
        column = source.view((n, c, *counts), strides, k * n_windows)
        trace.added_to(target, column)
    inner = canvas
    for axis, (p, length) in enumerate(zip(windows.padding, size, strict=True), start=2):
        inner = narrow(inner, axis, p, length)
    result = trace.reorder(inner, layout.row_major(inner.shape, x.dtype), inserted=False)
    return trace.view(x, result, lambda g: columns(g, windows, counts))


@operation
def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Extract sliding windows of images as columns.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16.
    kernel_size, dilation, padding, stride : int or pair of int
        Of the windows; ``padding`` is the number of zeros on each side.

    Returns
    -------
    array (N, C * kernel elements, L) or without N
        L windows in row-major order.

    Raises
    ------
    ValueError
        ``input`` has a different rank, or the kernel is larger than the image.

    Notes
    -----
    Source: oneDNN developer guide, "Reorder": one strided copy per kernel element.
    """
    windows = _windows("unfold", kernel_size, dilation, padding, stride)
    x = _with_batch("unfold", input, 4)
    result = columns(x, windows, windows.counts("unfold", x.shape[2:]))
    return result if input.ndim == 4 else reshape(result, result.shape[1:])


@operation
def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Sum columns into the windows of images: the adjoint of ``unfold``.

    Parameters
    ----------
    input : array (N, C * kernel elements, L) or without N
        float32, bfloat16 or float16; accumulated in float32.
    output_size : int or pair of int
        Height and width of the images.
    kernel_size, dilation, padding, stride : int or pair of int
        As for ``unfold``.

    Returns
    -------
    array (N, C, *output_size) or without N

    Raises
    ------
    ValueError
        ``input`` has a different number of rows or columns than the windows require.

    Notes
    -----
    Source: oneDNN developer guide, "Reorder": one accumulating copy per kernel element.
    """
    size = _pair("fold", "output_size", output_size)
    windows = _windows("fold", kernel_size, dilation, padding, stride)
    x = _with_batch("fold", input, 3)
    counts = windows.counts("fold", size)
    n_kernel, n_windows = math.prod(windows.kernel), math.prod(counts)
    if x.shape[1] % n_kernel or x.shape[2] != n_windows:
        raise ValueError(
            f"fold: input must have a multiple of {n_kernel} rows and {n_windows} columns, "
            f"got shape {input.shape}"
        )
    result = image(x, windows, counts, size)
    return result if input.ndim == 3 else reshape(result, result.shape[1:])


def _with_batch(name: str, x: Tensor, rank: int) -> Tensor:
    if x.ndim not in (rank - 1, rank) or 0 in x.shape[-rank + 1 :] or not x.is_float:
        raise ValueError(
            f"{name}: input must be of floats with {rank} or {rank - 1} axes, empty in none but "
            f"the batch, got {x.dtype} of shape {x.shape}"
        )
    return x if x.ndim == rank else reshape(x, (1, *x.shape))
