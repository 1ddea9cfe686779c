# SPDX-License-Identifier: Apache-2.0
"""Global average pooling as one kernel: averages and sums over all positions of (N, C, *S)."""

from __future__ import annotations

import math
from functools import partial

from sycl_dnn._core import algorithm
from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, dense, shares, units
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Channels are blocks of ``length`` elements, or innermost with ``width`` of them per group.
_SOURCE = """
#define START \\
    const int per_image = channels / width, number = get_group_id(0); \\
    const int left = number % per_image * width; \\
    const size_t start = (size_t)(number / per_image) * positions * channels + left; \\
    const size_t place = (size_t)(number / per_image) * channels + left;

__kernel void average_rows(__global const element *x, __global element *y, int rows, int each,
                           int length, float divisor) {
    GROUP_MEMORY;
    const int first = get_group_id(0) * each;
    for (int row = first; row < min(first + each, rows); ++row) {
        const float part = stretch_sum(x + (size_t)row * length, length);
        const float made = group_sum(part) / divisor;
        if (ITEM == 0) STORE1(made, y, row);
    }
}

__kernel void spread_rows(__global const element *dy, __global element *dx, int rows, int each,
                          int length, float divisor) {
    const int first = get_group_id(0) * each, whole = length / V * V;
    for (int row = first; row < min(first + each, rows); ++row) {
        __global element *q = dx + (size_t)row * length;
        const float value = LOAD1(dy, row) / divisor;
        for (int i = ITEM * V; i < whole; i += L * V) STORE((vector)value, i, q);
        for (int i = whole + ITEM; i < length; i += L) STORE1(value, q, i);
    }
}

__kernel void average_columns(__global const element *x, __global element *y,
                              __global float *sums, int positions, int channels, int width,
                              float divisor) {
    START
    COLUMNS(width) PUT((vector)0, place + c, sums);
    int r = 0;
    for (; r + 3 < positions; r += 4) {
        __global const element *p = x + start + (size_t)r * channels;
        __global const element *q = p + 2 * (size_t)channels;
        COLUMNS(width) {
            const vector a = LOAD(c, p) + LOAD(c, p + channels);
            PUT(GET(place + c, sums) + (a + (LOAD(c, q) + LOAD(c, q + channels))), place + c, sums);
        }
    }
    for (; r < positions; ++r) {
        __global const element *p = x + start + (size_t)r * channels;
        COLUMNS(width) PUT(GET(place + c, sums) + LOAD(c, p), place + c, sums);
    }
    COLUMNS(width) STORE(GET(place + c, sums) / divisor, place + c, y);
}

__kernel void spread_columns(__global const element *dy, __global element *dx, int positions,
                             int channels, int width, float divisor) {
    START
    __global element *p = dx + start;
    COLUMNS(width) STORE(LOAD(place + c, dy) / divisor, c, p);
    for (int r = 1; r < positions; ++r) {
        __global element *q = p + (size_t)r * channels;
        COLUMNS(width) COPY(c, p, q);
    }
}
"""


def averaged(x: Tensor, kind: algorithm = algorithm.reduction_mean) -> Tensor | None:
    """Return averages (or sums) of (N, C, *S) as (N, C, 1...); None to use oneDNN."""
    way = chosen("average_of_positions", x)
    if way is None:
        return None
    vector = 8 if way == "channels_last" and x.shape[1] % 16 else 16
    kernels = Kernels(x.trace, _SOURCE, x.dtype, vector)
    ways = {"row_major": ("average_rows", "spread_rows", *_over_rows(x))}
    if way == "channels_last":
        ways[way] = ("average_columns", "spread_columns", *_over_columns(x, vector))
    name, reverse, counts, n_groups = ways[way]
    is_mean = kind is algorithm.reduction_mean
    numbers = [*counts, float(math.prod(x.shape[2:])) if is_mean else 1.0]
    if not kernels.can_run(name):
        return None
    shape = (*x.shape[:2], *(1 for _ in x.shape[2:]))
    outs = {"dst": Out(shape, x.dtype)}
    if way == "channels_last":
        outs["sums"] = Out(x.shape[:2], "float32")

    def body() -> Tensor:
        return kernels.record(name, {"src": x}, outs, numbers, n_groups)["dst"]

    def rule(dy: Tensor) -> dict[str, Tensor]:
        given = {"diff_dst": dense(dy)}
        out = {"diff_src": Out(x.shape, x.dtype, x)}
        return {"src": kernels.record(reverse, given, out, numbers, n_groups)["diff_src"]}

    return x.trace.closed({"src": x}, body, rule, partial(_composed, x, kind))


def _composed(x: Tensor, kind: algorithm) -> Tensor:
    return reduce(kind, x, list(range(2, x.ndim)))


def _over_rows(x: Tensor) -> tuple[list[int], int]:
    rows = x.shape[0] * x.shape[1]
    each, n_groups = shares(x, rows)
    return [rows, each, x.size // rows], n_groups


def _over_columns(x: Tensor, vector: int) -> tuple[list[int], int]:
    n, channels = x.shape[:2]
    width = channels
    while n * (channels // width) < 2 * units(x) and width % (2 * vector) == 0:
        width //= 2
    return [math.prod(x.shape[2:]), channels, width], n * (channels // width)
