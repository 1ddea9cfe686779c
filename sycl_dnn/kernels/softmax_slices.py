# SPDX-License-Identifier: Apache-2.0
"""Softmax and its logarithm along any but the innermost axis of memory, forward and gradient."""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn.kernels.choice import is_chosen
from sycl_dnn.kernels.launching import Kernels, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: What a block of slices may take of the cache, in elements, and vectors that lie side by side.
_CACHED, _MOST_SIDE_BY_SIDE = 1 << 16, 4

#: A work-item takes blocks of ``U`` vectors of slices that lie side by side; where a row of slices
#: ends, the last vectors overlap and write the same twice. A slice has ``length`` elements,
#: ``inner`` apart; NaN in it, or nothing but minus infinity, makes all of it NaN.
_SOURCE = """
#define SIDES for (int k = 0; k < U; ++k)
#define SLICE for (int c = 0; c < length; ++c, at += inner)
#define BLOCKS \\
    const int per_row = (inner + U * V - 1) / (U * V), first = get_group_id(0) * each; \\
    for (int b = first + ITEM; b < min(first + each, blocks); b += L)
#define START \\
    const size_t start = (size_t)(b / per_row) * length * inner; \\
    int place[U]; \\
    SIDES place[k] = min((b % per_row * U + k) * V, inner - V); \\
    size_t at = start;

__kernel void softmax_forward(__global const element *x, __global element *y, int blocks,
                              int each, int length, int inner) {
    BLOCKS {
        START
        vector most[U], total[U];
        SIDES most[k] = -INFINITY;
        SLICE SIDES most[k] = fmax(most[k], LOAD(at + place[k], x));
        SIDES total[k] = 0;
        at = start;
        SLICE SIDES total[k] += exponential(LOAD(at + place[k], x) - most[k]);
#ifdef LOGARITHM
        SIDES total[k] = log(total[k]);
#else
        SIDES total[k] = 1.0f / total[k];
#endif
        at = start;
        SLICE SIDES {
            const vector u = LOAD(at + place[k], x) - most[k];
#ifdef LOGARITHM
            STORE(u - total[k], at + place[k], y);
#else
            STORE(exponential(u) * total[k], at + place[k], y);
#endif
        }
    }
}

__kernel void softmax_backward(__global const element *y, __global const element *dy,
                               __global element *dx, int blocks, int each, int length, int inner) {
    BLOCKS {
        START
        vector total[U];
        SIDES total[k] = 0;
        SLICE SIDES {
            const vector g = LOAD(at + place[k], dy);
#ifdef LOGARITHM
            total[k] += g;
#else
            total[k] = fma(LOAD(at + place[k], y), g, total[k]);
#endif
        }
        at = start;
        SLICE SIDES {
            const vector g = LOAD(at + place[k], dy), u = LOAD(at + place[k], y);
#ifdef LOGARITHM
            STORE(fma(-exponential(u), total[k], g), at + place[k], dx);
#else
            STORE(u * (g - total[k]), at + place[k], dx);
#endif
        }
    }
}
"""


def softmax(x: Tensor, axis: int, is_log: bool, composed: Callable[[], Tensor]) -> Tensor | None:
    """Return softmax along an axis; None where oneDNN is to.

    ``composed`` records oneDNN's. That of narrow dtypes is as fast: only their gradients are taken.
    """
    if not layout.is_dense(x.desc) or not is_chosen("softmax", x):
        return None
    length, inner = x.shape[axis], x.desc.strides[axis]
    if inner < 8 or length * 8 > _CACHED:
        return None
    vector = 16 if inner >= 16 else 8
    sides = min(-(-inner // vector), _MOST_SIDE_BY_SIDE, max(_CACHED // (length * vector), 1))
    macros = [f"U {sides}", *(["LOGARITHM"] if is_log else [])]
    kernels = Kernels(x.trace, _SOURCE, x.dtype, vector, macros)
    if not kernels.can_run("softmax_forward"):
        return None
    blocks = x.size // (length * inner) * -(-inner // (sides * vector))
    each = -(-blocks // (units(x) * 4))
    numbers, n_groups = [blocks, each, length, inner], -(-blocks // each)
    made: list[Tensor] = []

    def body() -> Tensor:
        if x.dtype != "float32" and x.trace.policy.kernels != "always":
            made.append(composed())
            return made[0]
        out = {"dst": Out(x.shape, x.dtype, x)}
        made.append(kernels.record("softmax_forward", {"src": x}, out, numbers, n_groups)["dst"])
        return made[0]

    def rule(dy: Tensor) -> dict[str, Tensor]:
        given = {"dst": made[0], "diff_dst": dy}
        given = {n: t if t.desc == x.desc else t.trace.reorder(t, x.desc) for n, t in given.items()}
        out = {"diff_src": Out(x.shape, x.dtype, x)}
        found = kernels.record("softmax_backward", given, out, numbers, n_groups)
        return {"src": found["diff_src"]}

    return x.trace.closed({"src": x}, body, rule, composed)
