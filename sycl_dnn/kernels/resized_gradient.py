# SPDX-License-Identifier: Apache-2.0
"""The gradient of linear interpolation of channels-last signals and images, as one kernel."""

from __future__ import annotations

from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, of_image, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Results on one axis that read one element: with more, oneDNN's primitive runs.
_MOST = 18

#: An element sums over the results in which it has a weight, which may be 0, as in PyTorch.
_SOURCE = """

// The results on an axis that read element ``at`` of ``size``: the first, and the weights of all.
int readers(int at, int size, int count, int *first, float *weights) {
    const float scale = (float)count / size;
    const int low = at ? max((int)floor((at - 0.5f) * scale - 0.5f) - 1, 0) : 0;
    const int high = at < size - 1 ? min((int)ceil((at + 1.5f) * scale - 0.5f) + 1, count) : count;
    int n = 0;
    for (int i = low; i < high; ++i) {
        const float s = clamp((i + 0.5f) * size / count - 0.5f, 0.0f, size - 1.0f);
        if (s < at - 1 || s >= at + 1) continue;
        if (!n) *first = i;
        if (n < MOST) weights[n++] = 1 - fabs(s - at);
    }
    return n;
}

__kernel void resized_backward(__global const element *dy, __global element *dx, int rows, int each,
                               int height, int width, int channels, int out_height, int out_width) {
    const int start = get_group_id(0) * each;
    for (int row = start; row < min(start + each, rows); ++row) {
        float down[MOST], across[MOST];
        int top, left;
        const int n = readers(row % height, height, out_height, &top, down);
        const size_t above = (size_t)(row / height) * out_height + top;
        for (int w = 0; w < width; ++w) {
            const int m = readers(w, width, out_width, &left, across);
            __global const element *p = dy + (above * out_width + left) * channels;
            __global element *q = dx + ((size_t)row * width + w) * channels;
            COLUMNS(channels) {
                vector sums = 0;
                for (int i = 0; i < n; ++i) {
                    __global const element *line = p + (size_t)i * out_width * channels + c;
                    vector part = 0;
                    for (int j = 0; j < m; ++j) part += across[j] * LOAD(j * channels, line);
                    sums += down[i] * part;
                }
                STORE(sums, c, q);
            }
        }
    }
}
"""


def resized_gradient(x: Tensor, dy: Tensor) -> Tensor | None:
    """Return the gradient of (N, C, *S), channels-last; None to use oneDNN.

    Parameters
    ----------
    x, dy : Tensor (N, C, *S), (N, C, *T)
        What was interpolated, by ``resampling_linear``, and the gradient of the result.
    """
    if chosen("resize_gradient", x) != "channels_last" or x.ndim > 4 or not dy.size:
        return None
    readers = [2 * -(-t // s) + 2 for s, t in zip(x.shape[2:], dy.shape[2:], strict=True)]
    # The edges' elements are read from half an element beyond them, too.
    if max(readers) > _MOST:
        return None
    if dy.desc != layout.channels_last(dy.shape, x.dtype):
        dy = dy.trace.reorder(dy, layout.channels_last(dy.shape, x.dtype))
    channels = x.shape[1]
    macros = [f"MOST {max(readers)}"]
    kernels = Kernels(x.trace, _SOURCE, x.dtype, 8 if channels % 16 else 16, macros)
    if not kernels.can_run("resized_backward"):
        return None
    height, width = of_image(x.shape[2:])
    rows = x.shape[0] * height
    each = -(-rows // (units(x) * 4))
    numbers = [rows, each, height, width, channels, *of_image(dy.shape[2:])]
    out = {"diff_src": Out(x.shape, x.dtype, "channels_last")}
    return kernels.record("resized_backward", {"diff_dst": dy}, out, numbers, -(-rows // each))[
        "diff_src"
    ]
