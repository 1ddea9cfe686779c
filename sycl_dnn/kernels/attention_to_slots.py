# SPDX-License-Identifier: Apache-2.0
"""Attention of a few new positions to a cache, including the update of its slots: a CPU kernel.

A group processes one head of keys with its queries: it applies their rotary embedding, writes keys
and values to their slots, and reads only the slots that the queries may attend to.
"""

from __future__ import annotations

from typing import NamedTuple

from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, dense
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Maximum number of new positions.
MOST_POSITIONS = 8
#: Maximum number of elements of a group's queries, which private memory holds.
_MAX_QUERY_ELEMENTS = 1 << 14

_SOURCE = """
#define R (GROUP * T)
#define BLOCK 64
#define VECTORS (D / 16)

/* Rotate a head by its position; the first PAIRS features belong to the next ones. */
void turned(__global const element *x, __global const float *cos, __global const float *sin,
            float *y) {
    for (int i = 0; i < D; ++i) {
        const float v = LOAD1(x, i);
#ifdef PAIRS
        y[i] = v * cos[i] + LOAD1(x, i < PAIRS ? i + PAIRS : i - PAIRS) * sin[i];
#else
        y[i] = v;
#endif
    }
}

void copied(__global const element *from, __global element *to, int n) {
    if (from != to)
        for (int i = 0; i < n; i += 16) COPY(i, from, to);
}

/* Softmax over a block of scores with the largest score so far, and the sum of the values. */
void added(float *scores, int count, __global const element *v, float *most, float *total,
           vector *made) {
    vector top = *most;
    for (int j = 0; j < count; j += 16) top = fmax(top, vload16(0, scores + j));
    float each[16];
    vstore16(top, 0, each);
    for (int i = 0; i < 16; ++i) each[0] = fmax(each[0], each[i]);
    const float factor = exp(*most - each[0]);
    *most = each[0];
    vector sums[VECTORS], weights = 0;
    for (int i = 0; i < VECTORS; ++i) sums[i] = made[i] * factor;
    for (int j = 0; j < (count + 15) / 16 * 16; j += 16) {
        const vector part = exp(vload16(0, scores + j) - each[0]);
        weights += part;
        vstore16(part, 0, scores + j);
    }
    *total = *total * factor + sum(weights);
    for (int j = 0; j < count; ++j)
        for (int i = 0; i < VECTORS; ++i)
            sums[i] = fma((vector)scores[j], LOAD(j * D + i * 16, v), sums[i]);
    for (int i = 0; i < VECTORS; ++i) made[i] = sums[i];
}

/* y (N, T, HEADS * GROUP, D); keys and values (N, HEADS, n_slots, D). */
ONE_ITEM
__kernel void attention_to_slots(
    __global const element *queries, __global const element *new_k, __global const element *new_v,
    __global const int *place, __global const int *starts, __global const element *keys,
    __global const element *values, __global const float *cos, __global const float *sin,
    __global element *y, __global element *to_keys, __global element *to_values, int n_slots,
    int turn_step) {
    const int id = get_group_id(0), n = id / HEADS, head = id % HEADS, first = *place;
    const size_t slice = (size_t)id * n_slots * D;
    __global element *k = to_keys + slice, *v = to_values + slice;
    copied(keys + slice, k, n_slots * D);
    copied(values + slice, v, n_slots * D);
    float rows[R * D], turned_k[D], most[R], total[R];
    vector made[R * VECTORS];
    for (int t = 0; t < T; ++t) {
        const size_t at = (size_t)(n * T + t) * HEADS + head;
        __global const float *c = cos + n * turn_step + t * D, *s = sin + n * turn_step + t * D;
        for (int g = 0; g < GROUP; ++g)
            turned(queries + (at * GROUP + g) * D, c, s, rows + (g * T + t) * D);
        if ((uint)(first + t) >= (uint)n_slots) continue;
        turned(new_k + at * D, c, s, turned_k);
        for (int i = 0; i < D; i += 16) {
            STORE(vload16(0, turned_k + i), (first + t) * D + i, k);
            COPY(i, new_v + at * D, v + (first + t) * D);
        }
    }
    for (int r = 0; r < R; ++r) {
        most[r] = -1e30f;
        total[r] = 0;
        for (int i = 0; i < VECTORS; ++i) made[r * VECTORS + i] = 0;
    }
    const int last = min(first + T, n_slots), start = max(starts[n], 0);
    for (int from = max(start, first - WINDOW + 1); from < last; from += BLOCK) {
        const int count = min(BLOCK, last - from);
        float scores[R * BLOCK];
        for (int r = 0; r < R; ++r)
            for (int j = count / 16 * 16; j < BLOCK; j += 16)
                vstore16((vector)-INFINITY, 0, scores + r * BLOCK + j);
        for (int j = 0; j < count; ++j) {
            const int slot = from + j;
            vector of_k[VECTORS];
            for (int i = 0; i < VECTORS; ++i) of_k[i] = LOAD(slot * D + i * 16, k);
            for (int r = 0; r < R; ++r) {
                const int is_seen = slot <= first + r % T && slot > first + r % T - WINDOW;
                vector all = 0;
                for (int i = 0; i < VECTORS; ++i)
                    all = fma(of_k[i], vload16(0, rows + r * D + i * 16), all);
                const float score = CAPPED(sum(all));
                scores[r * BLOCK + j] = is_seen ? score : -INFINITY;
            }
        }
        for (int r = 0; r < R; ++r)
            added(scores + r * BLOCK, count, v + (size_t)from * D, most + r, total + r,
                  made + r * VECTORS);
    }
    for (int r = 0; r < R; ++r) {
        const int g = r / T, t = r % T;
        __global element *to = y + (((size_t)(n * T + t) * HEADS + head) * GROUP + g) * D;
        const float by = total[r] == 0 ? 0.0f : 1.0f / total[r]; /* padding sees nothing */
        for (int i = 0; i < VECTORS; ++i) STORE(made[r * VECTORS + i] * by, i * 16, to);
    }
}
"""


class Scores(NamedTuple):
    """Parameters of the scores.

    ``cap``: scores are ``cap * tanh(score / cap)``; ``window``: number of visible positions,
    including the position itself.
    """

    scale: float
    cap: float | None = None
    window: int | None = None


class Slices(NamedTuple):
    """Tensors of a cache and where to write in it.

    keys, values : tensor (N, heads, S, D)
    first : tensor (), int32; the slot of the first new position
    starts : tensor (N,), int32; the first slot that a row sees
    """

    keys: Tensor
    values: Tensor
    first: Tensor
    starts: Tensor


class Rotated(NamedTuple):
    """A rotary embedding: float32 tensors (N or 1, 1, T, D), and the distance of a pair."""

    cos: Tensor
    sin: Tensor
    n_pairs: int


def attention_to_slots(
    query: Tensor, key: Tensor, value: Tensor, cache: Slices, rotated: Rotated | None,
    scores: Scores,
) -> tuple[Tensor, Tensor, Tensor] | None:  # fmt: skip
    """Return attention (N, T, H, D) and the new cache, or None if there is no kernel for it.

    Not differentiable.

    ``query``: tensor (N, T, H, D); ``key``, ``value``: tensor (N, T, heads, D).
    """
    n, length, n_queries, dim = query.shape
    heads, n_slots = cache.keys.shape[1:3]
    group = n_queries // heads
    is_cpu = query.trace.is_on_cpu
    dtypes = {t.dtype for t in (query, key, value, cache.keys, cache.values)}
    is_whole = dim % 16 == 0 and 0 < group * length * dim <= _MAX_QUERY_ELEMENTS and n > 0
    is_small = length <= MOST_POSITIONS and cache.keys.size < MAX_SPAN
    if not (is_cpu and is_whole and is_small and len(dtypes) == 1 and query.dtype in DTYPES):
        return None
    window = MAX_SPAN - 1 if scores.window is None else min(scores.window, MAX_SPAN - 1)
    cap, scale = scores.cap, float(scores.scale)
    capped = f"((s) * {scale!r}f)"
    if cap is not None:
        capped = f"({float(cap)!r}f * tanh((s) * {scale / cap!r}f))"
    macros = [f"GROUP {group}", f"T {length}", f"D {dim}", f"HEADS {heads}", f"WINDOW {window}"]
    macros += [f"CAPPED(s) {capped}"]
    macros += [] if rotated is None else [f"PAIRS {rotated.n_pairs}"]
    kernels = Kernels(query.trace, _SOURCE, query.dtype, 16, macros)
    if not kernels.can_run("attention_to_slots"):
        return None
    inputs = {"queries": query, "new_k": key, "new_v": value, "first": cache.first}
    inputs |= {"starts": cache.starts, "keys": cache.keys, "values": cache.values}
    # Without an embedding the kernel reads neither.
    cos, sin = (cache.starts,) * 2 if rotated is None else rotated[:2]
    inputs |= {"cos": cos, "sin": sin}
    step = length * dim if cos.ndim == 4 and cos.shape[0] > 1 else 0
    of_cache = Out(cache.keys.shape, query.dtype)
    out = {"y": Out(query.shape, query.dtype), "new_keys": of_cache, "new_values": of_cache}
    inputs = {name: dense(t) for name, t in inputs.items()}
    results = kernels.record("attention_to_slots", inputs, out, [n_slots, step], n * heads)
    return results["y"], results["new_keys"], results["new_values"]
