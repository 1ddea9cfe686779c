# SPDX-License-Identifier: Apache-2.0
"""The gradient of the weights of a depthwise convolution, which oneDNN computes slowly.

Its fast implementation is for kernels of at most three columns without dilation; the others, which
compute each group by itself, take 5 to 100 times as long.
"""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, in_layout, of_image, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

#: Columns up to which oneDNN has a fast implementation, and whose sums are in registers at a time.
_FAST_COLUMNS, _COLUMNS = 3, 16
#: Elements of a kernel whose sums private memory holds.
_MOST_ELEMENTS = 256

#: A part is a block of channels of some images. The sums of a row of results are in registers, some
#: columns at a time, those of all rows in private memory, so long sums are also more accurate.
_SOURCE = """
ONE_ITEM
__kernel void depthwise_weights(__global const element *restrict x,
                                __global const element *restrict dy, __global float *restrict dw,
                                int parts, int each, int images, int blocks, int height, int width,
                                int channels, int out_height, int out_width, int top, int left) {
    const int start = get_group_id(0) * each;
    // The results whose windows have all their columns inside the image.
    const int first = min((left + SW - 1) / SW, out_width), room = width + left - (KW - 1) * DW - 1;
    const int last = max(first, min(room < 0 ? 0 : room / SW + 1, out_width));
    for (int part = start; part < min(start + each, parts); ++part) {
        // The last block overlaps the one before, and writes the same values.
        const int c = min((part % blocks * L + ITEM) * V, channels - V);
        const int low = part / blocks * images, high = min(low + images, IMAGES);
        vector sums[KH * KW];
        for (int t = 0; t < KH * KW; ++t) sums[t] = 0;
        for (int row = low * out_height; row < high * out_height; ++row) {
            const int h = row % out_height * SH - top;
            __global const element *from = dy + (size_t)row * out_width * channels + c;
            for (int i = 0; i < KH; ++i) {
                if (h + i * DH < 0 || h + i * DH >= height) continue;
                const size_t line = (size_t)(row / out_height) * height + h + i * DH;
                __global const element *image = x + line * width * channels + c;
                for (int done = 0; done < KW; done += AT_ONCE) {
                    const int column = min(done, KW - AT_ONCE);
                    vector of_row[AT_ONCE];
#pragma unroll
                    for (int k = 0; k < AT_ONCE; ++k) of_row[k] = 0;
                    for (int j = 0; j < out_width; ++j) {
                        const vector g = LOAD((size_t)j * channels, from);
                        const int w = j * SW - left + column * DW;
                        if (first <= j && j < last) {
#pragma unroll
                            for (int k = 0; k < AT_ONCE; ++k)
                                of_row[k] += g * LOAD((size_t)(w + k * DW) * channels, image);
                        } else {
#pragma unroll
                            for (int k = 0; k < AT_ONCE; ++k) {
                                const int at = w + k * DW;
                                if (0 <= at && at < width)
                                    of_row[k] += g * LOAD((size_t)at * channels, image);
                            }
                        }
                    }
#pragma unroll
                    for (int k = 0; k < AT_ONCE; ++k)
                        if (column + k >= done) sums[i * KW + column + k] += of_row[k];
                }
            }
        }
        __global float *to = dw + (size_t)(part / blocks) * KH * KW * channels + c;
        for (int t = 0; t < KH * KW; ++t) PUT(sums[t], (size_t)t * channels, to);
    }
}
"""


def depthwise_weights_gradient(
    x: Tensor, dy: Tensor, shape: tuple[int, ...], params: dict[str, Any]
) -> Tensor | None:
    """Return the gradient of the weights of a depthwise convolution; None to use oneDNN.

    ``x``, ``dy``: tensor (N, C, *S), (N, C, *T), the source, as the primitive read it, and the
    gradient of the result; ``shape``: of the weights, (C, 1, 1, *K); ``params``: of the primitive:
    ``strides``, ``dilates``, ``padding_l``.
    """
    is_fast = shape[-1] <= _FAST_COLUMNS and max(params["dilates"]) == 0
    is_known = len(shape) <= 5 and math.prod(shape[3:]) <= _MOST_ELEMENTS
    if is_fast or not is_known or chosen("depthwise", x) != "channels_last":
        return None
    height, width = of_image(shape[3:])
    strides, dilates = of_image(params["strides"]), of_image(params["dilates"], missing=0)
    columns = -(-width // -(-width // _COLUMNS))
    values = (height, width, columns, *strides, *(d + 1 for d in dilates), x.shape[0])
    names = ("KH", "KW", "AT_ONCE", "SH", "SW", "DH", "DW", "IMAGES")
    vector = 8 if x.shape[1] % 16 else 16
    kernels = Kernels(
        x.trace, _SOURCE, x.dtype, vector, [f"{n} {v}" for n, v in zip(names, values, strict=True)]
    )
    if not kernels.can_run("depthwise_weights"):
        return None
    blocks = -(-x.shape[1] // (vector * kernels.n_items))
    n_images = -(-x.shape[0] // max(min(4 * units(x) // blocks, x.shape[0]), 1))
    n_parts = -(-x.shape[0] // n_images)
    numbers = [
        n_parts * blocks, 1, n_images, blocks, *of_image(x.shape[2:]), x.shape[1],
        *of_image(dy.shape[2:]), *of_image(params["padding_l"], missing=0),
    ]  # fmt: skip
    partial = kernels.record(
        "depthwise_weights",
        {"src": x, "diff_dst": in_layout(dy, layout.channels_last(dy.shape, x.dtype))},
        {"diff_weights": Out((n_parts, *shape[3:], x.shape[1]), "float32")},
        numbers, n_parts * blocks,
    )["diff_weights"]  # fmt: skip
    total = reduce(algorithm.reduction_sum, partial, [0])
    rank = len(shape) - 3
    return reshape(transpose(total, [rank + 1, 0, *range(1, rank + 1)]), shape)
