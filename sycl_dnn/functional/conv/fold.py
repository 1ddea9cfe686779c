# SPDX-License-Identifier: Apache-2.0
"""``unfold`` and ``fold``: sliding windows of images as columns, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.conv.windows import extents, per_axis
from sycl_dnn.functional.product.along_axes import Taps, weighted_sums
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

Pair = tuple[int, int]


class Windows(NamedTuple):
    """The windows of an image."""

    kernel: Pair
    dilation: Pair
    padding: Pair
    stride: Pair

    def counts(self, name: str, size: Sequence[int]) -> Pair:
        """Return the number of windows along each axis; raise ValueError if none fits."""
        window_extents = extents(self.kernel, self.dilation)
        rows = zip(size, self.padding, window_extents, self.stride, strict=True)
        n_rows, n_columns = ((n + 2 * p - r) // s + 1 for n, p, r, s in rows)
        if min(n_rows, n_columns) < 1:
            raise ValueError(
                f"{name}: kernel_size must fit into the image of {tuple(size)}, got {self.kernel} "
                f"with dilation {self.dilation} and padding {self.padding}"
            )
        return n_rows, n_columns

    def taps(self, size: Sequence[int], counts: Pair) -> Taps:
        """Return the element of the image (H * W) of each column entry (kernel * windows)."""
        return _single(self._elements(size, counts), math.prod(size))

    def rows(self, size: Sequence[int], counts: Sequence[int]) -> Taps:
        """Return the element of the image (H * W) of each row entry (windows * kernel)."""
        return _single(self._elements(size, counts).transpose(2, 3, 0, 1), math.prod(size))

    def _elements(self, size: Sequence[int], counts: Sequence[int]) -> np.ndarray:
        """Return the element of an image for a kernel (KH, KW) in windows (T, U), -1 outside."""
        flat = np.zeros((1,) * 4, np.int64)
        for axis, n in enumerate(size):
            elements = np.arange(self.kernel[axis])[:, None] * self.dilation[axis]
            places = np.arange(counts[axis]) * self.stride[axis] + elements - self.padding[axis]
            table = np.where((places >= 0) & (places < n), places, -1)
            table = table[:, None, :, None] if axis == 0 else table[None, :, None, :]
            flat = np.where((flat < 0) | (table < 0), -1, flat * n + table)
        return flat


def _single(elements: np.ndarray, n: int) -> Taps:
    """Return the taps that read one of ``n`` elements each; -1 is a zero."""
    columns = np.where(elements < 0, n, elements).reshape(-1, 1)
    return Taps(columns, (columns < n) * 1.0, n)


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
        float32, bfloat16 or float16; float64 if the device supports it.
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
    Source: ``torch.nn.functional.unfold``.
    """
    windows = _windows("unfold", kernel_size, dilation, padding, stride)
    x = _with_batch("unfold", input, 4)
    counts = windows.counts("unfold", x.shape[2:])
    rows = reshape(x, (x.shape[0] * x.shape[1], math.prod(x.shape[2:])))
    columns = weighted_sums(rows, 1, windows.taps(x.shape[2:], counts))
    n_rows, n_columns = x.shape[1] * math.prod(windows.kernel), math.prod(counts)
    return reshape(columns, (*input.shape[:-3], n_rows, n_columns))


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
        float32, bfloat16 or float16, summed in float32; float64 if the device supports it.
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
    Source: ``torch.nn.functional.fold``.
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
    channels = x.shape[1] // n_kernel
    rows = reshape(x, (x.shape[0] * channels, n_kernel * n_windows))
    wide = converted(rows, dtypes.wide(x.dtype))
    images = weighted_sums(wide, 1, windows.taps(size, counts).transposed())
    return converted(reshape(images, (*input.shape[:-2], channels, *size)), input.dtype)


def _with_batch(name: str, x: Tensor, rank: int) -> Tensor:
    if x.ndim not in (rank - 1, rank) or 0 in x.shape[-rank + 1 :] or not x.is_float:
        raise ValueError(
            f"{name}: input must be of floats with {rank} or {rank - 1} axes, empty in none but "
            f"the batch, got {x.dtype} of shape {x.shape}"
        )
    return x if x.ndim == rank else reshape(x, (1, *x.shape))
