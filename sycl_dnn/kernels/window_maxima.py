# SPDX-License-Identifier: Apache-2.0
"""The gradient of maxima over windows of channels-last signals and images, as one kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: A place of the input collects what the windows over it have for it: at most ``MOST`` of them.
#: ``taken`` has the number in its window of each maximum.
_SOURCE = """
#define COLUMNS for (int c = ITEM * V; c < channels; c += L * V)
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
            COLUMNS {
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
"""


def maxima_gradient(x: Tensor, dy: Tensor, taken: Tensor, params: dict[str, Any]) -> Tensor | None:
    """Return the gradient of (N, C, *S), channels-last; None where oneDNN is to.

    Parameters
    ----------
    x, dy : Tensor (N, C, *S), (N, C, *T)
        What was pooled, and the gradient of the maxima.
    taken : Tensor
        oneDNN's workspace.
    params : dict
        Of the primitive: ``kernel``, ``strides``, ``padding_l``.
    """
    rank = x.ndim - 2
    is_known = taken.desc == layout.channels_last(dy.shape, "uint8")
    if chosen("max_pool_gradient", x) is None or rank > 2 or not is_known or x.shape[1] % 8:
        return None
    if x.desc != layout.channels_last(x.shape, x.dtype):
        return None
    if dy.desc != layout.channels_last(dy.shape, x.dtype):
        dy = dy.trace.reorder(dy, layout.channels_last(dy.shape, x.dtype))

    def both(sizes: Sequence[int], missing: int) -> Sequence[int]:
        return (*(missing for _ in range(2 - rank)), *sizes)

    kernel, strides = both(params["kernel"], 1), both(params["strides"], 1)
    most = math.prod(-(-k // s) for k, s in zip(kernel, strides, strict=True))
    names = ("KH", "KW", "SH", "SW", "MOST")
    macros = [f"{n} {v}" for n, v in zip(names, (*kernel, *strides, most), strict=True)]
    channels = x.shape[1]
    kernels = Kernels(x.trace, _SOURCE, x.dtype, 8 if channels % 16 else 16, macros)
    if not kernels.can_run("maxima_backward"):
        return None
    height, width = both(x.shape[2:], 1)
    rows = x.shape[0] * height
    each = -(-rows // (units(x) * 4))
    numbers = [rows, each, height, width, channels, *both(dy.shape[2:], 1)]
    numbers += both(params["padding_l"], 0)
    given = {"diff_dst": dy, "workspace": taken}
    out = {"diff_src": Out(x.shape, x.dtype, "channels_last")}
    return kernels.record("maxima_backward", given, out, numbers, -(-rows // each))["diff_src"]
