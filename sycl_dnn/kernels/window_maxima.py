# SPDX-License-Identifier: Apache-2.0
"""Max pooling kernels for signals and images, forward and gradient, per layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.kernels.choice import beats_primitives, chosen, is_missing
from sycl_dnn.kernels.launching import Kernels, in_layout, of_image, shares, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor

#: Channels per part of a row-major gradient, and elements of a channel that a band holds.
_CHANNELS, _BAND_ELEMENTS = 16, 1024

#: Maxima are channels-last; ``taken`` has the index of each maximum in its window. In the
#: channels-last gradient, an input sums the gradients of the windows over it. In
#: the row-major gradient, each maximum is added to its element, in bands of rows that fit the
#: cache; elements outside the rows of a part are added after the band.
_SOURCE = """
#define LEAST(at, size, stride) max(0, ((at) - (size) + (stride)) / (stride))

// As PyTorch: the first of the largest, or the last NaN.
ONE_ITEM
__kernel void maxima_forward(__global const element *x, __global element *y,
#ifdef TAKEN
                             __global uchar *taken,
#endif
                             int rows, int each, int height, int width, int channels,
                             int out_height, int out_width, int top, int left) {
    const int start = get_group_id(0) * each;
    for (int row = start; row < min(start + each, rows); ++row) {
        const int h = row % out_height * SH - top;
        const int first = max(-h, 0), last = min(height - h, KH);
        __global const element *image = x + (size_t)(row / out_height) * height * width * channels;
        for (int j = 0; j < out_width; ++j) {
            const int w = j * SW - left, begin = max(-w, 0), end = min(width - w, KW);
            const size_t to = ((size_t)row * out_width + j) * channels;
            COLUMNS(channels) {
                vector most = -INFINITY;
                JOIN(int, V) number = first * KW + begin;
                for (int i = first; i < last; ++i) {
                    const size_t from = ((size_t)(h + i) * width + w) * channels + c;
                    for (int k = begin; k < end; ++k) {
                        const vector u = LOAD(from + k * channels, image);
                        const JOIN(int, V) is_more = u > most || u != u;
                        most = select(most, u, is_more);
#ifdef TAKEN
                        number = select(number, (JOIN(int, V))(i * KW + k), is_more);
#endif
                    }
                }
                STORE(most, to + c, y);
#ifdef TAKEN
                JOIN(vstore, V)(JOIN(convert_uchar, V)(number), 0, taken + to + c);
#endif
            }
        }
    }
}

// Columns of inputs differ by ``r`` from the first of a window; windows over them by ``b``.
#if KW <= 8
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED
#endif

ONE_ITEM
__kernel void maxima_backward(__global const element *dy, __global const uchar *taken,
                              __global element *dx, int rows, int each, int height, int width,
                              int channels, int out_height, int out_width, int top, int left) {
    const int start = get_group_id(0) * each;
    for (int row = start; row < min(start + each, rows); ++row) {
        const int h = row % height + top, first = LEAST(h, KH, SH);
        const int last = min(h / SH, out_height - 1);
        const size_t above = (size_t)(row / height) * out_height;
        __global element *q = dx + ((size_t)row * width - left) * channels;
        for (int j = left / SW; j * SW < width + left; ++j) {
            UNROLLED
            for (int r = 0; r < SW; ++r) {
                const int w = j * SW + r;
                if (w < left || w >= width + left) continue;
                size_t from[MOST];
                int numbers[MOST], n = 0;
                for (int i = first; i <= last; ++i) {
                    UNROLLED
                    for (int b = (KW - 1 - r) / SW; b >= 0; --b) {
                        if (j < b || j - b >= out_width || r + b * SW >= KW) continue;
                        from[n] = ((above + i) * out_width + j - b) * channels;
                        numbers[n++] = (h - i * SH) * KW + r + b * SW;
                    }
                }
                COLUMNS(channels) {
                    vector sums = 0;
                    for (int k = 0; k < n; ++k) {
                        const JOIN(uchar, V) number = JOIN(vload, V)(0, taken + from[k] + c);
                        const vector g = LOAD(from[k] + c, dy);
                        sums += select((vector)0, g, JOIN(convert_int, V)(number) == numbers[k]);
                    }
                    STORE(sums, (size_t)w * channels + c, q);
                }
            }
        }
    }
}

// The first of the kept rows are done: they are written, the others move up.
void rows_done(__global float *band, __global element *q, int done, int kept) {
    int i = 0;
    for (; i + V <= done; i += V) STORE(GET(i, band), i, q);
    for (; i < done; ++i) STORE1(band[i], q, i);
    for (i = 0; i < kept - done; i += V) PUT(GET(i + done, band), i, band);
    for (i = kept - done; i < kept; i += V) PUT((vector)0, i, band);
}

#define ROWS_DONE(next) \\
    for (int k = 0; k < n; ++k) { \\
        __global element *q = dx + (image * channels + c + k) * height * width + base * width; \\
        rows_done(band + k * pitch, q, ((next) - base) * width, room); \\
    } \\
    base = next;

ONE_ITEM
__kernel void maxima_backward_rows(
    __global const element *restrict dy, __global const uchar *restrict taken,
    __global element *restrict dx, __global float *restrict bands, int parts, int each,
    int per_image, int rows, int kept, int height, int width, int channels, int out_height,
    int out_width, int top, int left) {
    const int room = kept * width, pitch = room + width + V, blocks = (channels + B - 1) / B;
    const int start = get_group_id(0) * each;
    __global float *band = bands + ((size_t)get_group_id(0) * L + ITEM) * B * pitch;
    int places[256];
    for (int t = 0; t < 256; ++t) places[t] = room;
    for (int part = start + ITEM; part < min(start + each, parts); part += L) {
        const int c = part / per_image % blocks * B, n = min(B, channels - c);
        const int low = part % per_image * rows, high = min(low + rows, height);
        const size_t image = part / per_image / blocks;
        const int last = min((high - 1 + top) / SH, out_height - 1);
        int base = low;
        for (int k = 0; k < n; ++k) {
            for (int i = 0; i < room; i += V) PUT((vector)0, k * pitch + i, band);
        }
        for (int i = LEAST(low + top, KH, SH); i <= last; ++i) {
            const int h = i * SH - top;
            while (min(h + KH, high) > base + kept) {
                const int next = min(h, base + kept);
                ROWS_DONE(next)
            }
            bool is_known = false;
            for (int j = 0; j < out_width; ++j) {
                const int w = j * SW - left;
                const bool is_edge = w < 0 || w + KW > width;
                if (is_edge || !is_known) {
                    for (int t = 0; t < KH * KW; ++t) {
                        const int y = h + t / KW, x = w + t % KW;
                        const bool is_inside = low <= y && y < high && 0 <= x && x < width;
                        places[t] = is_inside ? (y - base) * width + t % KW : room - min(w, 0);
                    }
                    is_known = !is_edge;
                }
                const size_t at = ((image * out_height + i) * out_width + j) * channels + c;
                __global float *to = band + w;
                if (n == B) {
#pragma unroll
                    for (int k = 0; k < B; ++k, to += pitch) {
                        to[places[taken[at + k]]] += LOAD1(dy, at + k);
                    }
                } else {
                    for (int k = 0; k < n; ++k, to += pitch) {
                        to[places[taken[at + k]]] += LOAD1(dy, at + k);
                    }
                }
            }
        }
        while (base < high) {
            const int next = min(high, base + kept);
            ROWS_DONE(next)
        }
    }
}
"""


def maxima(
    x: Tensor, shape: tuple[int, ...], params: dict[str, Any], needs_workspace: bool,
    primitive: Callable[[], dict[str, Tensor]],
) -> dict[str, Tensor]:  # fmt: skip
    """Return the maxima of (N, C, *S) as ``dst``, and optionally their ``workspace``.

    ``x``: tensor (N, C, *S); ``shape``: of the maxima; ``params``: of the primitive;
    ``needs_workspace``: whether the workspace is needed for a gradient or for indices;
    ``primitive``: records oneDNN's primitive, which is slower on CPUs without AVX-512.
    """
    input_layout = chosen("max_pool", x) if x.ndim <= 4 else None
    windows, n_entries = _Windows(x, shape, params), len(x.trace.tape)
    is_numbered = math.prod(params["kernel"]) <= 256
    uses_kernel = input_layout == "channels_last" and is_numbered and beats_primitives(x)
    by_kernel = windows.maxima(needs_workspace) if uses_kernel else None
    pooled = by_kernel or primitive()
    # The gradient of widened values requires no conversions.
    is_widened = input_layout == "row_major" and is_missing(x) and needs_workspace
    if by_kernel is None and not (
        is_widened and windows.has_rows and _is_readable(pooled["workspace"], shape)
    ):
        return pooled
    x.trace.tape[n_entries:] = [Entry("pooling_forward", {"src": x}, pooled, params)]
    return pooled


def _is_readable(workspace: Tensor, shape: tuple[int, ...]) -> bool:
    return workspace.desc == layout.channels_last(shape, "uint8")


def maxima_gradient(
    x: Tensor, dy: Tensor, workspace: Tensor, params: dict[str, Any]
) -> Tensor | None:
    """Return the gradient of (N, C, *S) in the layout of ``x``; None to use oneDNN.

    ``x``, ``dy``: tensor (N, C, *S), (N, C, *T), the pooled tensor, row-major or channels-last, and
    the gradient of the maxima; ``workspace``: the workspace of oneDNN's primitive or of ``maxima``;
    ``params``: of the primitive: ``kernel``, ``strides``, ``padding_l``.
    """
    input_layout = chosen("max_pool", x)
    if input_layout is None or x.ndim > 4 or not _is_readable(workspace, dy.shape):
        return None
    windows = _Windows(x, dy.shape, params)
    return (windows.rows if input_layout == "row_major" else windows.columns)(dy, workspace)


class _Windows:
    """Windows over an image; a signal is an image with one row."""

    def __init__(self, x: Tensor, shape: tuple[int, ...], params: dict[str, Any]) -> None:
        self._x, self._shape = x, shape
        self._kernel = of_image(params["kernel"])
        self._strides = of_image(params["strides"])
        self._sizes = of_image(x.shape[2:])
        self._made = of_image(shape[2:])
        top_left = of_image(params["padding_l"], missing=0)
        self._numbers = [*self._sizes, x.shape[1], *self._made, *top_left]

    def maxima(self, is_taken: bool) -> dict[str, Tensor] | None:
        """Return the maxima in channels-last memory; None without a compiler."""
        kernels = self._kernels(self._vector, ["TAKEN"] if is_taken else [])
        if not kernels.can_run("maxima_forward"):
            return None
        rows = self._x.shape[0] * self._made[0]
        share, n_groups = shares(self._x, rows)
        outs = {"dst": Out(self._shape, self._x.dtype, "channels_last")}
        if is_taken:
            outs["workspace"] = Out(self._shape, "uint8", "channels_last")
        numbers = [rows, share, *self._numbers]
        return kernels.record("maxima_forward", {"src": self._x}, outs, numbers, n_groups)

    def columns(self, dy: Tensor, workspace: Tensor) -> Tensor | None:
        """Return the gradient in channels-last memory; None without a compiler."""
        rows = self._x.shape[0] * self._sizes[0]
        share, n_groups = shares(self._x, rows)
        kernels, numbers = self._kernels(self._vector), [rows, share, *self._numbers]
        return self._recorded(kernels, "maxima_backward", dy, workspace, numbers, n_groups)

    def rows(self, dy: Tensor, workspace: Tensor) -> Tensor | None:
        """Return the gradient in row-major memory; None without a compiler."""
        height, width = self._sizes
        band_rows = min(max(-(-_BAND_ELEMENTS // width), 2 * self._kernel[0]), height)
        parts, n_wanted = self._x.shape[0] * -(-self._x.shape[1] // _CHANNELS), units(self._x) * 4
        # Parts of an image share the windows at their borders.
        per_image = min(max(n_wanted // parts, 1), max(height // (4 * self._kernel[0]), 1))
        rows = -(-height // per_image)
        per_image = -(-height // rows)
        parts *= per_image
        share, n_groups = shares(self._x, parts)
        kernels = self._kernels(16)
        pitch = (band_rows + 1) * width + 16
        numbers = [parts, share, per_image, rows, band_rows, *self._numbers]
        bands = {"bands": Out((n_groups * kernels.n_items, _CHANNELS, pitch), "float32")}
        name = "maxima_backward_rows"
        return self._recorded(kernels, name, dy, workspace, numbers, n_groups, bands)

    @property
    def has_rows(self) -> bool:
        """Whether the device can compile the row-major gradient."""
        return self._kernels(16).can_run("maxima_backward_rows")

    @property
    def _vector(self) -> int:
        return 8 if self._x.shape[1] % 16 else 16

    def _kernels(self, vector: int, defined: Sequence[str] = ()) -> Kernels:
        spans = zip(self._kernel, self._strides, strict=True)
        max_overlaps = math.prod(-(-k // s) for k, s in spans)
        values = (*self._kernel, *self._strides, max_overlaps, _CHANNELS)
        names = ("KH", "KW", "SH", "SW", "MOST", "B")
        macros = [f"{n} {v}" for n, v in zip(names, values, strict=True)]
        return Kernels(self._x.trace, _SOURCE, self._x.dtype, vector, [*macros, *defined])

    def _recorded(
        self, kernels: Kernels, name: str, dy: Tensor, workspace: Tensor, numbers: list[int],
        n_groups: int, bands: dict[str, Out] | None = None,
    ) -> Tensor | None:  # fmt: skip
        if not kernels.can_run(name):
            return None
        x = self._x
        dy = in_layout(dy, layout.channels_last(dy.shape, x.dtype))
        inputs = {"diff_dst": dy, "workspace": workspace}
        dx_layout = "channels_last" if bands is None else "row_major"
        outputs = {"diff_src": Out(x.shape, x.dtype, dx_layout), **(bands or {})}
        return kernels.record(name, inputs, outputs, numbers, n_groups)["diff_src"]
