# SPDX-License-Identifier: Apache-2.0
"""Linear interpolation kernels for channels-last signals and images, forward and gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from sycl_dnn.kernels.choice import beats_primitives, chosen
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, in_layout, of_image, shares
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Maximum number of outputs along an axis that depend on one input; beyond, oneDNN is used.
_MAX_OUTPUTS = 18

#: An output is the weighted mean of four inputs, some possibly with weight 0, as in PyTorch. In the
#: gradient, an input sums over the outputs in which it has a weight.
_SOURCE = """

// The first of the two elements on an axis that a result reads, and the weight of the second: at
// the end the first one again.
int first_read(int at, float scale, int size, float *weight) {
    const float s = fmax((at + 0.5f) * scale - 0.5f, 0.0f);
    const int first = min((int)s, size - 1);
    *weight = s - first;
    return first;
}

#define MIX(a, b, weight) ((1 - (weight)) * (a) + (weight) * (b))
// A column of two rows.
#define COLUMN(w) MIX(LOAD((w) * channels, p), LOAD((w) * channels, q), down)

ONE_ITEM
__kernel void resized_forward(__global const element *x, __global element *y, int rows, int each,
                              int height, int width, int channels, int out_height, int out_width) {
    const int start = get_group_id(0) * each;
    const float along = (float)height / out_height, sideways = (float)width / out_width;
    for (int row = start; row < min(start + each, rows); ++row) {
        float down, across;
        const int top = first_read(row % out_height, along, height, &down);
        const size_t above = (size_t)(row / out_height) * height + top;
        const size_t below = above + (top < height - 1);
        COLUMNS(channels) {
            __global const element *p = x + above * width * channels + c;
            __global const element *q = x + below * width * channels + c;
            __global element *to = y + (size_t)row * out_width * channels + c;
            vector left = COLUMN(0), right = COLUMN(min(1, width - 1));
            int known = 0;
            for (int w = 0; w < out_width; ++w, to += channels) {
                const int first = first_read(w, sideways, width, &across);
                if (first != known) {
                    left = first == known + 1 ? right : COLUMN(first);
                    right = COLUMN(min(first + 1, width - 1));
                    known = first;
                }
                STORE(MIX(left, right, across), 0, to);
            }
        }
    }
}

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

#if L == 1
#define FENCE
#else
#define FENCE barrier(CLK_GLOBAL_MEM_FENCE)
#endif

// Rows of gradients first, added to a line of any number of channels; then the elements of the
// line. Which of these an input is in, and the weights, are the same in all rows.
ONE_ITEM
__kernel void resized_backward(__global const element *dy, __global element *dx,
                               __global float *lines, int rows, int each, int height, int width,
                               int channels, int out_height, int out_width) {
    const int start = get_group_id(0) * each, n = out_width * channels;
    __global float *line = lines + (size_t)get_group_id(0) * (n + width * (MOST + 2));
    float weights[MOST];
    int first = 0;
    for (int w = ITEM; w < width; w += L) {
        __global float *to = line + n + w * (MOST + 2);
        const int m = readers(w, width, out_width, &first, weights);
        to[0] = first, to[1] = m;
        for (int j = 0; j < m; ++j) to[j + 2] = weights[j];
    }
    for (int row = start; row < min(start + each, rows); ++row) {
        const int m = readers(row % height, height, out_height, &first, weights);
        __global const element *p = dy + ((size_t)(row / height) * out_height + first) * n;
        for (int i = ITEM * V; i + V <= n; i += L * V) {
            vector sums = 0;
            for (int k = 0; k < m; ++k) sums += weights[k] * LOAD((size_t)k * n + i, p);
            PUT(sums, i, line);
        }
        for (int i = n / V * V + ITEM; i < n; i += L) {
            float sum = 0;
            for (int k = 0; k < m; ++k) sum += weights[k] * LOAD1(p, (size_t)k * n + i);
            line[i] = sum;
        }
        FENCE;
        for (int w = 0; w < width; ++w) {
            __global const float *across = line + n + w * (MOST + 2);
            __global const float *from = line + (int)across[0] * channels;
            __global element *q = dx + ((size_t)row * width + w) * channels;
            for (int c = ITEM * V; c + V <= channels; c += L * V) {
                vector sums = 0;
                for (int j = 0; j < (int)across[1]; ++j)
                    sums += across[j + 2] * GET(j * channels + c, from);
                STORE(sums, c, q);
            }
            for (int c = channels / V * V + ITEM; c < channels; c += L) {
                float sum = 0;
                for (int j = 0; j < (int)across[1]; ++j)
                    sum += across[j + 2] * from[j * channels + c];
                STORE1(sum, q, c);
            }
        }
        FENCE;
    }
}
"""


#: Records oneDNN's primitive.
Primitive = Callable[[Tensor], Tensor]


def resized(x: Tensor, sizes: tuple[int, ...], primitive: Primitive) -> Tensor:
    """Return (N, C, *S) resized, by oneDNN's primitive as a fallback."""
    kernels = _Way.of(x, sizes, primitive) if beats_primitives(x) else None
    return primitive(x) if kernels is None or not kernels.can_run() else kernels.forward(x)


def resized_gradient(x: Tensor, dy: Tensor, primitive: Primitive) -> Tensor | None:
    """Return the gradient of channels-last (N, C, *S); None to use oneDNN.

    ``x``, ``dy``: tensor (N, C, *S), (N, C, *T), the interpolated tensor (by
    ``resampling_linear``), and the gradient of the result; ``primitive``: records the
    interpolation.
    """
    kernels = _Way.of(x, dy.shape[2:], primitive)
    return kernels.backward(dy) if kernels is not None and kernels.can_run() else None


class _Way:
    """The kernels for one tensor and output size."""

    def __init__(self, x: Tensor, sizes: tuple[int, ...], most: int, primitive: Primitive) -> None:
        self._x, self._sizes, self._most, self._primitive = x, sizes, most, primitive
        vector = 8 if x.shape[1] % 16 == 8 else 16
        self._kernels = Kernels(x.trace, _SOURCE, x.dtype, vector, [f"MOST {most}"])

    @classmethod
    def of(cls, x: Tensor, sizes: tuple[int, ...], primitive: Primitive) -> _Way | None:
        """Return the kernels; None if they do not support the tensor or would be slower."""
        n_results = math.prod((*x.shape[:2], *sizes))
        if x.ndim > 4 or not 0 < n_results < MAX_SPAN:
            return None
        if chosen("resize", x, any_channels=True) != "channels_last":
            return None
        # Border elements also contribute to outputs up to half an element beyond them.
        most = max(2 * -(-t // s) + 2 for s, t in zip(x.shape[2:], sizes, strict=True))
        return cls(x, sizes, most, primitive) if most <= _MAX_OUTPUTS else None

    def can_run(self) -> bool:
        """Whether the device can compile the kernels."""
        return self._kernels.can_run("resized_forward")

    def forward(self, x: Tensor) -> Tensor:
        """Record the resized image; its gradient is ``backward``."""
        if x.shape[1] % 8:
            return self._primitive(x)
        shape = (*self._x.shape[:2], *self._sizes)
        record = partial(self._recorded, "forward", "src", x, "dst", shape)
        return x.trace.closed({"x": x}, record, lambda dy: {"x": self.backward(dy)})

    def backward(self, dy: Tensor) -> Tensor:
        """Record the gradient of the image; that of the gradient is ``forward``."""
        record = partial(self._recorded, "backward", "diff_dst", dy, "diff_src", self._x.shape)
        return dy.trace.closed({"dy": dy}, record, lambda slope: {"dy": self.forward(slope)})

    def _recorded(
        self, direction: str, source: str, operand: Tensor, name: str, shape: tuple[int, ...]
    ) -> Tensor:
        operand = in_layout(operand, layout.channels_last(operand.shape, self._x.dtype))
        rows = shape[0] * of_image(shape[2:])[0]
        share, n_groups = shares(self._x, rows)
        sizes = [*of_image(self._x.shape[2:]), self._x.shape[1], *of_image(self._sizes)]
        out = {name: Out(shape, self._x.dtype, "channels_last")}
        if direction == "backward":
            pitch = self._sizes[-1] * self._x.shape[1] + self._x.shape[-1] * (self._most + 2)
            out["lines"] = Out((n_groups, pitch), "float32")
        numbers = [rows, share, *sizes]
        return self._kernels.record(
            f"resized_{direction}", {source: operand}, out, numbers, n_groups
        )[name]
