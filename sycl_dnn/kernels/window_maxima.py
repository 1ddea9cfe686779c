# SPDX-License-Identifier: Apache-2.0
"""The gradient of maxima over windows of signals and images, as one kernel for each layout."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, of_image, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Channels of a part of a row-major gradient, and elements of each that are kept for sums.
_CHANNELS, _KEPT = 16, 1024

#: Maxima have their channels innermost; ``taken`` has the index of each maximum in its window.
#: Channels-last, an element of the input sums the gradients of the windows over it: at most
#: ``MOST`` of them. Row-major, each maximum is added to its element, in a band of rows that fits
#: the cache; anything outside the rows of the part is added after the band.
_SOURCE = """
#define LEAST(at, size, stride) max(0, ((at) - (size) + (stride)) / (stride))

__kernel void maxima_backward(__global const element *dy, __global const uchar *taken,
                              __global element *dx, int rows, int each, int height, int width,
                              int channels, int out_height, int out_width, int top, int left) {
    const int start = get_group_id(0) * each;
    for (int row = start; row < min(start + each, rows); ++row) {
        const int h = row % height + top, last = min(h / SH, out_height - 1);
        for (int w = left; w < width + left; ++w) {
            size_t from[MOST];
            int wanted[MOST], n = 0;
            for (int i = LEAST(h, KH, SH); i <= last; ++i) {
                for (int j = LEAST(w, KW, SW); j <= min(w / SW, out_width - 1); ++j) {
                    const size_t above = (size_t)(row / height) * out_height + i;
                    from[n] = (above * out_width + j) * channels;
                    wanted[n++] = (h - i * SH) * KW + w - j * SW;
                }
            }
            __global element *q = dx + ((size_t)row * width + w - left) * channels;
            COLUMNS(channels) {
                vector sums = 0;
                for (int k = 0; k < n; ++k) {
                    const JOIN(uchar, V) number = JOIN(vload, V)(0, taken + from[k] + c);
                    const vector g = LOAD(from[k] + c, dy);
                    sums += select((vector)0, g, JOIN(convert_int, V)(number) == wanted[k]);
                }
                STORE(sums, c, q);
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


def maxima_gradient(x: Tensor, dy: Tensor, taken: Tensor, params: dict[str, Any]) -> Tensor | None:
    """Return the gradient of (N, C, *S), in the layout of ``x``; None to use oneDNN.

    Parameters
    ----------
    x, dy : Tensor (N, C, *S), (N, C, *T)
        What was pooled, row-major or channels-last, and the gradient of the maxima.
    taken : Tensor
        oneDNN's workspace.
    params : dict
        Of the primitive: ``kernel``, ``strides``, ``padding_l``.
    """
    wanted = chosen("max_pool_gradient", x)
    is_known = taken.desc == layout.channels_last(dy.shape, "uint8")
    if wanted is None or x.ndim > 4 or not is_known:
        return None
    way = _Windows(x, dy, params)
    return (way.rows if wanted == "row_major" else way.columns)(taken)


class _Windows:
    """Windows over an image; a signal is an image of one row."""

    def __init__(self, x: Tensor, dy: Tensor, params: dict[str, Any]) -> None:
        self._x, self._dy = x, dy
        self._kernel = of_image(params["kernel"])
        self._strides = of_image(params["strides"])
        self._sizes = of_image(x.shape[2:])
        top_left = of_image(params["padding_l"], missing=0)
        self._numbers = [*self._sizes, x.shape[1], *of_image(dy.shape[2:]), *top_left]

    def columns(self, taken: Tensor) -> Tensor | None:
        """Return the gradient in channels-last memory; None without a compiler."""
        rows = self._x.shape[0] * self._sizes[0]
        kernels = self._kernels(8 if self._x.shape[1] % 16 else 16)
        each = -(-rows // (units(self._x) * 4))
        numbers, n_groups = [rows, each, *self._numbers], -(-rows // each)
        return self._recorded(kernels, "maxima_backward", taken, "channels_last", numbers, n_groups)

    def rows(self, taken: Tensor) -> Tensor | None:
        """Return the gradient in row-major memory; None without a compiler."""
        height, width = self._sizes
        kept = min(max(-(-_KEPT // width), 2 * self._kernel[0]), height)
        parts, wanted = self._x.shape[0] * -(-self._x.shape[1] // _CHANNELS), units(self._x) * 4
        # Parts of an image share windows at their edges.
        per_image = min(max(wanted // parts, 1), max(height // (4 * self._kernel[0]), 1))
        rows = -(-height // per_image)
        per_image = -(-height // rows)
        parts *= per_image
        each = -(-parts // wanted)
        kernels, n_groups = self._kernels(16), -(-parts // each)
        pitch = (kept + 1) * width + 16
        numbers = [parts, each, per_image, rows, kept, *self._numbers]
        outs = {"bands": Out((n_groups * kernels.n_items, _CHANNELS, pitch), "float32")}
        name = "maxima_backward_rows"
        return self._recorded(kernels, name, taken, "row_major", numbers, n_groups, outs)

    def _kernels(self, vector: int) -> Kernels:
        spans = zip(self._kernel, self._strides, strict=True)
        most = math.prod(-(-k // s) for k, s in spans)
        values = (*self._kernel, *self._strides, most, _CHANNELS)
        names = ("KH", "KW", "SH", "SW", "MOST", "B")
        macros = [f"{n} {v}" for n, v in zip(names, values, strict=True)]
        return Kernels(self._x.trace, _SOURCE, self._x.dtype, vector, macros)

    def _recorded(
        self, kernels: Kernels, name: str, taken: Tensor, wanted: str, numbers: list[int],
        n_groups: int, outs: dict[str, Out] | None = None,
    ) -> Tensor | None:  # fmt: skip
        if not kernels.can_run(name):
            return None
        x, dy = self._x, self._dy
        if dy.desc != layout.channels_last(dy.shape, x.dtype):
            dy = dy.trace.reorder(dy, layout.channels_last(dy.shape, x.dtype))
        given = {"diff_dst": dy, "workspace": taken}
        out = {"diff_src": Out(x.shape, x.dtype, wanted), **(outs or {})}
        return kernels.record(name, given, out, numbers, n_groups)["diff_src"]
