# SPDX-License-Identifier: Apache-2.0
"""Batch normalization with given statistics, as one kernel, where no gradient follows."""

from __future__ import annotations

from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, Tensors, defined, dense, units
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

_SOURCE = """
#define COLUMNS for (int c = ITEM * V; c < channels; c += L * V)
#ifdef SCALED
#define SCALE , __global const float *scale
#else
#define SCALE
#endif
#ifdef SHIFTED
#define SHIFT , __global const float *shift
#else
#define SHIFT
#endif

__kernel void given_rows(__global const element *x, __global const float *mean,
                         __global const float *variance SCALE SHIFT, __global element *y,
                         int rows, int each, int length, int channels, float eps) {
    const int first = get_group_id(0) * each, whole = length / V * V;
    for (int row = first; row < min(first + each, rows); ++row) {
        const int channel = row % channels;
        __global const element *p = x + (size_t)row * length;
        __global element *q = y + (size_t)row * length;
        const float about = mean[channel];
        float by = 1.0f / sqrt(variance[channel] + eps), plus = 0;
#ifdef SCALED
        by *= scale[channel];
#endif
#ifdef SHIFTED
        plus = shift[channel];
#endif
        int i = ITEM * V;
        for (; i < whole; i += L * V) {
            STORE(fma(LOAD(i, p) - about, (vector)by, (vector)plus), i, q);
        }
        for (i = whole + ITEM; i < length; i += L) STORE1(fma(LOAD1(p, i) - about, by, plus), q, i);
    }
}

__kernel void given_columns(__global const element *x, __global const float *mean,
                            __global const float *variance SCALE SHIFT, __global element *y,
                            __global float *factors, int rows, int each, int channels,
                            float eps) {
    const int first = get_group_id(0) * each;
    __global float *factor = factors + (size_t)get_group_id(0) * 2 * channels;
    __global float *level = factor + channels;
    COLUMNS {
        vector by = 1.0f / sqrt(GET(c, variance) + eps), plus = 0;
#ifdef SCALED
        by *= GET(c, scale);
#endif
#ifdef SHIFTED
        plus = GET(c, shift);
#endif
        PUT(by, c, factor);
        PUT(plus, c, level);
    }
    for (int row = first; row < min(first + each, rows); ++row) {
        __global const element *p = x + (size_t)row * channels;
        __global element *q = y + (size_t)row * channels;
        COLUMNS STORE(fma(LOAD(c, p) - GET(c, mean), GET(c, factor), GET(c, level)), c, q);
    }
}
"""


def normalized_by(
    x: Tensor, mean: Tensor, variance: Tensor, vectors: Tensors, eps: float
) -> Tensor | None:
    """Normalize (N, C, *S); None where oneDNN is to. Vectors (C,) are of float32.

    Compiled functions have it folded into the weights before it, and gradients have rules of
    oneDNN's primitive: both are left to that.
    """
    way = None if x.trace.training or x.trace.is_compiled else chosen("batch_norm_inference", x)
    if way is None:
        return None
    channels = x.shape[1]
    is_rows = way == "row_major"
    length = x.size // (x.shape[0] * channels) if is_rows else channels
    kernels = Kernels(x.trace, _SOURCE, x.dtype, 16 if is_rows or channels % 16 == 0 else 8,
                      defined(vectors))  # fmt: skip
    name = "given_rows" if is_rows else "given_columns"
    if not kernels.can_run(name):
        return None
    rows = x.size // length
    each = -(-rows // (units(x) * 4))
    n_groups = -(-rows // each)
    outs = {"dst": Out(x.shape, x.dtype, x)}
    numbers: list[int | float] = [rows, each, length, channels, float(eps)]
    if not is_rows:
        outs["factors"] = Out((n_groups, 2, channels), "float32")
        del numbers[2]
    given = {"mean": mean, "variance": variance, **vectors}
    given = {"src": x, **{n: dense(t) for n, t in given.items()}}
    return kernels.record(name, given, outs, numbers, n_groups)["dst"]
