# SPDX-License-Identifier: Apache-2.0
"""Fused activation kernels, forward and gradient."""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn.kernels.choice import is_chosen
from sycl_dnn.kernels.launching import Kernels, in_layout, units
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Elements per group: large enough to amortize its start, small enough to use all processors.
_LEAST = 1 << 14

_SOURCE = """
#define FIRST (get_group_id(0) * each)
#define MOST (int)min((long)each, (long)size - (long)FIRST)
#define VECTORS for (; i + V <= n; i += L * V)
// What is left is less than a vector, and the first item's.
#define REST if (ITEM == 0) for (i = n / V * V; i < n; ++i)

__kernel void relu_forward(__global const element *x, __global element *y, int size, int each) {
    const int n = MOST;
    __global const element *p = x + FIRST;
    __global element *q = y + FIRST;
    int i = ITEM * V;
    VECTORS STORE(fmax(LOAD(i, p), 0.0f), i, q);
    REST STORE1(fmax(LOAD1(p, i), 0.0f), q, i);
}

__kernel void relu_backward(__global const element *y, __global const element *dy,
                            __global element *dx, int size, int each) {
    const int n = MOST;
    __global const element *p = y + FIRST, *g = dy + FIRST;
    __global element *q = dx + FIRST;
    int i = ITEM * V;
    VECTORS STORE(select((vector)0, LOAD(i, g), LOAD(i, p) > 0.0f), i, q);
    REST STORE1(LOAD1(p, i) > 0.0f ? LOAD1(g, i) : 0.0f, q, i);
}

__kernel void silu_forward(__global const element *x, __global element *y, int size, int each) {
    const int n = MOST;
    __global const element *p = x + FIRST;
    __global element *q = y + FIRST;
    int i = ITEM * V;
    VECTORS {
        const vector u = LOAD(i, p);
        STORE(u / (1.0f + exp(-u)), i, q);
    }
    REST {
        const float u = LOAD1(p, i);
        STORE1(u / (1.0f + exp(-u)), q, i);
    }
}

__kernel void silu_backward(__global const element *x, __global const element *dy,
                            __global element *dx, int size, int each) {
    const int n = MOST;
    __global const element *p = x + FIRST, *g = dy + FIRST;
    __global element *q = dx + FIRST;
    int i = ITEM * V;
    VECTORS {
        const vector u = LOAD(i, p), s = 1.0f / (1.0f + exp(-u));
        STORE(LOAD(i, g) * s * (1.0f + u * (1.0f - s)), i, q);
    }
    REST {
        const float u = LOAD1(p, i), s = 1.0f / (1.0f + exp(-u));
        STORE1(LOAD1(g, i) * s * (1.0f + u * (1.0f - s)), q, i);
    }
}
"""


def activated(name: str, x: Tensor, composed: Callable[[], Tensor]) -> Tensor:
    """Return ``relu`` or ``silu`` of an array, or ``composed()`` if oneDNN should compute it."""
    if x.trace.is_compiled or not layout.is_dense(x.desc) or not is_chosen("activation", x):
        return composed()
    kernels = Kernels(x.trace, _SOURCE, x.dtype)
    if not kernels.can_run(f"{name}_forward"):
        return composed()
    each = max(-(-x.size // (units(x) * 4)), _LEAST)
    each += -each % 16
    numbers, n_groups = [x.size, each], -(-x.size // each)
    made: list[Tensor] = []

    def body() -> Tensor:
        out = {"dst": Out(x.shape, x.dtype, x)}
        made.append(kernels.record(f"{name}_forward", {"src": x}, out, numbers, n_groups)["dst"])
        return made[0]

    def rule(dy: Tensor) -> dict[str, Tensor]:
        known = made[0] if name == "relu" else x
        given = {"src": known, "diff_dst": in_layout(dy, x.desc)}
        out = {"diff_src": Out(x.shape, x.dtype, x)}
        found = kernels.record(f"{name}_backward", given, out, numbers, n_groups)
        return {"src": found["diff_src"]}

    return x.trace.closed({"src": x}, body, rule, composed)
