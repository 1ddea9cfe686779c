# SPDX-License-Identifier: Apache-2.0
"""Batch normalization kernels with given statistics, forward and gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, Tensors, defined, dense, in_layout, shares
from sycl_dnn.trace.steps import Composed, Entry, Out
from sycl_dnn.trace.values import Tensor

#: ``number`` is the type of channel vectors: float, or the element type (``NARROW``).
_SOURCE = """
#define ROWS(from) for (int row = from; row < min(from + each, rows); ++row)
#define BLOCK 16
#ifdef NARROW
typedef element number;
#define NUMBERS(i, p) LOAD(i, p)
#define NUMBER(p, i) LOAD1(p, i)
#define PUT_NUMBERS(v, i, p) STORE(v, i, p)
#define PUT_NUMBER(v, p, i) STORE1(v, p, i)
#else
typedef float number;
#define NUMBERS(i, p) GET(i, p)
#define NUMBER(p, i) ((p)[i])
#define PUT_NUMBERS(v, i, p) PUT(v, i, p)
#define PUT_NUMBER(v, p, i) ((p)[i] = (v))
#endif
#ifdef SCALED
#define SCALE , __global const number *scale
#define SCALES NUMBERS(c, scale)
#define SCALE1 NUMBER(scale, channel)
#else
#define SCALE
#define SCALES 1.0f
#define SCALE1 1.0f
#endif
#ifdef SHIFTED
#define SHIFT , __global const number *shift
#define SHIFTS NUMBERS(c, shift)
#define SHIFT1 NUMBER(shift, channel)
#else
#define SHIFT
#define SHIFTS 0
#define SHIFT1 0
#endif
#define STATISTICS __global const number *mean, __global const number *variance SCALE
#define FACTORS (SCALES / sqrt(NUMBERS(c, variance) + eps))
#define FACTOR (SCALE1 / sqrt(NUMBER(variance, channel) + eps))

__kernel void given_rows(__global const element *x, STATISTICS SHIFT, __global element *y,
                         int rows, int each, int length, int channels, float eps) {
    const int first = get_group_id(0) * each, whole = length / V * V;
    ROWS(first) {
        const int channel = row % channels;
        __global const element *p = x + (size_t)row * length;
        __global element *q = y + (size_t)row * length;
        const float about = NUMBER(mean, channel), by = FACTOR, plus = SHIFT1;
        int i = ITEM * V;
        for (; i < whole; i += L * V) {
            STORE(fma(LOAD(i, p) - about, (vector)by, (vector)plus), i, q);
        }
        for (i = whole + ITEM; i < length; i += L) STORE1(fma(LOAD1(p, i) - about, by, plus), q, i);
    }
}

__kernel void given_columns(__global const element *x, STATISTICS SHIFT, __global element *y,
                            __global float *factors, int rows, int each, int channels,
                            float eps) {
    const int first = get_group_id(0) * each;
    __global float *factor = factors + (size_t)get_group_id(0) * 3 * channels;
    __global float *level = factor + channels, *about = level + channels;
    COLUMNS(channels) {
        PUT(FACTORS, c, factor);
        PUT((vector)SHIFTS, c, level);
        PUT(NUMBERS(c, mean), c, about);
    }
    ROWS(first) {
        __global const element *p = x + (size_t)row * channels;
        __global element *q = y + (size_t)row * channels;
        COLUMNS(channels)
            STORE(fma(LOAD(c, p) - GET(c, about), GET(c, factor), GET(c, level)), c, q);
    }
}

// A work-group has one channel, which is a stretch in each image.
__kernel void given_rows_backward(
    __global const element *x, __global const element *dy, STATISTICS, __global element *dx,
    __global number *dscale, __global number *dshift, int images, int length, int channels,
    float eps) {
    GROUP_MEMORY;
    const int channel = get_group_id(0), whole = length / V * V;
    const float about = NUMBER(mean, channel), by = FACTOR;
    float sums = 0, products = 0;
    for (int image = 0; image < images; ++image) {
        const size_t start = ((size_t)image * channels + channel) * length;
        __global const element *p = x + start, *g = dy + start;
        __global element *q = dx + start;
        vector a = 0, b = 0;
        for (int i = ITEM * V; i < whole; i += L * V) {
            const vector u = LOAD(i, g);
            a += u;
            b = fma(u, LOAD(i, p) - about, b);
            STORE(u * by, i, q);
        }
        float part = sum(a), product = sum(b);
        for (int i = whole + ITEM; i < length; i += L) {
            const float u = LOAD1(g, i);
            part += u;
            product = fma(u, LOAD1(p, i) - about, product);
            STORE1(u * by, q, i);
        }
        sums += part;
        products += product;
    }
    sums = group_sum(sums);
    products = group_sum(products) / sqrt(NUMBER(variance, channel) + eps);
    if (ITEM == 0) {
        PUT_NUMBER(products, dscale, channel);
        PUT_NUMBER(sums, dshift, channel);
    }
}

// A work-group has a part of the rows; its sums are added up by the next kernel.
__kernel void given_columns_backward(
    __global const element *x, __global const element *dy, STATISTICS, __global element *dx,
    __global float *parts, __global float *factors, int rows, int each, int channels, float eps) {
    const int start = get_group_id(0) * each;
    __global float *sums = parts + (size_t)get_group_id(0) * 2 * channels;
    __global float *products = sums + channels;
    __global float *factor = factors + (size_t)get_group_id(0) * channels;
    COLUMNS(channels) {
        PUT((vector)0, c, sums);
        PUT((vector)0, c, products);
        PUT(FACTORS, c, factor);
    }
    for (int first = start; first < min(start + each, rows); first += BLOCK) {
        const int last = min(min(first + BLOCK, start + each), rows);
        COLUMNS(channels) {
            const vector about = NUMBERS(c, mean), by = GET(c, factor);
            vector a = 0, b = 0;
            for (int row = first; row < last; ++row) {
                const size_t at = (size_t)row * channels + c;
                const vector u = LOAD(at, dy);
                a += u;
                b = fma(u, LOAD(at, x) - about, b);
                STORE(u * by, at, dx);
            }
            PUT(GET(c, sums) + a, c, sums);
            PUT(GET(c, products) + b, c, products);
        }
    }
}

__kernel void given_columns_sums(__global const float *parts, __global const number *variance,
                                 __global number *dscale, __global number *dshift, int n_parts,
                                 int channels, float eps) {
    COLUMNS(channels) {
        vector sums = 0, products = 0;
        for (int part = 0; part < n_parts; ++part) {
            sums += GET(c, parts + (size_t)part * 2 * channels);
            products += GET(c + channels, parts + (size_t)part * 2 * channels);
        }
        PUT_NUMBERS(products / sqrt(NUMBERS(c, variance) + eps), c, dscale);
        PUT_NUMBERS(sums, c, dshift);
    }
}
"""


def normalized_by(
    x: Tensor, vectors: Tensors, eps: float, composed: Callable[[Tensors], Tensors]
) -> Tensor | None:
    """Normalize (N, C, *S); return None to use oneDNN.

    Compiled inference uses the primitive, which is folded into preceding weights.

    Parameters
    ----------
    vectors : dict
        ``mean``, ``variance`` and optionally ``scale`` and ``shift`` (C,): all float32, or all with
        the dtype of ``x``.
    composed : callable
        Fallback, called with ``src`` and the vectors as in ``Trace.primitive``.
    """
    way = None if x.trace.is_compiled else chosen("batch_norm_inference", x)
    if way is None:
        return None
    given = {"src": x, **{n: dense(t) for n, t in vectors.items()}}
    kernels = _kernels(given, way)
    is_rows = way == "row_major"
    name = "given_rows" if is_rows else "given_columns"
    if not kernels.can_run(name):
        return None
    rows, each, length, channels = _sizes(x, is_rows)
    n_groups = -(-rows // each)
    outs = {"dst": Out(x.shape, x.dtype, x)}
    if not is_rows:
        outs["factors"] = Out((n_groups, 3, channels), "float32")
    numbers = [rows, each, *([length] if is_rows else []), channels, float(eps)]
    made = kernels.record(name, given, outs, numbers, n_groups)["dst"]
    backward = _backward_rows if is_rows else _backward_columns
    entry = Entry("batch_norm", given, {"dst": made}, rule=partial(_rule, backward, eps))
    entry.composed = Composed(composed, entry)
    x.trace.tape.append(entry)
    return made


def _kernels(given: Tensors, way: str) -> Kernels:
    x = given["src"]
    macros = defined(given)
    if given["mean"].dtype != "float32":
        macros.append("NARROW")
    vector = 16 if way == "row_major" or x.shape[1] % 16 == 0 else 8
    return Kernels(x.trace, _SOURCE, x.dtype, vector, macros)


def _sizes(x: Tensor, is_rows: bool) -> tuple[int, int, int, int]:
    """Return rows, rows per part, elements per row, channels."""
    channels = x.shape[1]
    length = x.size // (x.shape[0] * channels) if is_rows else channels
    rows = x.size // length
    return rows, shares(x, rows)[0], length, channels


def _rule(backward: Callable[..., Tensors], eps: float, entry: Entry, grads: Tensors) -> Tensors:
    x, dy = entry.inputs["src"], grads["dst"]
    dy = in_layout(dy, x.desc)
    names = ("mean", "variance", "scale")
    statistics = {n: entry.inputs[n] for n in names if n in entry.inputs}
    found = backward(x, dy, statistics, eps)
    return {n: found[f"diff_{n}"] for n in ("src", "scale", "shift") if n in entry.inputs}


def _outs(x: Tensor, like: Tensor) -> dict[str, Out]:
    outs = {"diff_src": Out(x.shape, x.dtype, x)}
    return outs | {n: Out((x.shape[1],), like.dtype) for n in ("diff_scale", "diff_shift")}


def _backward_rows(x: Tensor, dy: Tensor, statistics: Tensors, eps: float) -> Tensors:
    kernels = _kernels({"src": x, **statistics}, "row_major")
    n, channels = x.shape[:2]
    given = {"src": x, "diff_dst": dy, **statistics}
    numbers = [n, x.size // (n * channels), channels, float(eps)]
    outs = _outs(x, statistics["mean"])
    return kernels.record("given_rows_backward", given, outs, numbers, channels)


def _backward_columns(x: Tensor, dy: Tensor, statistics: Tensors, eps: float) -> Tensors:
    kernels = _kernels({"src": x, **statistics}, "channels_last")
    rows, each, _, channels = _sizes(x, False)
    n_parts = -(-rows // each)
    outs = _outs(x, statistics["mean"])
    first = {"diff_src": outs.pop("diff_src"), "parts": Out((n_parts, 2, channels), "float32")}
    first["factors"] = Out((n_parts, channels), "float32")
    given = {"src": x, "diff_dst": dy, **statistics}
    numbers = [rows, each, channels, float(eps)]
    made = kernels.record("given_columns_backward", given, first, numbers, n_parts)
    given = {"parts": made["parts"], "variance": statistics["variance"]}
    numbers = [n_parts, channels, float(eps)]
    return {**made, **kernels.record("given_columns_sums", given, outs, numbers, 1)}
