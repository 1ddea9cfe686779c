# SPDX-License-Identifier: Apache-2.0
"""Adam as one kernel, which reads and writes parameter, gradient and moments once."""

from __future__ import annotations

from collections.abc import Mapping

from sycl_dnn import _core
from sycl_dnn.kernels.launching import Kernels, dense
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Sizes in bytes between which the kernel is used: below, the launch dominates.
_LEAST, _MOST = 1 << 17, 1 << 33
#: Parts of a parameter per processor, for load balancing.
_PARTS = 4

_SOURCE = """
#define STEP(P, G, M, V2) \\
    M = M * beta1 + G * rest1; \\
    V2 = V2 * beta2 + G * G * rest2; \\
    P = P * keeps - M * by / (sqrt(V2) / below + eps);

__kernel void adam_step(
    __global const float *p, __global const float *g, __global const float *m,
    __global const float *v, __global const float *size, __global const float *root,
    __global const float *shrink, __global float *new_p, __global float *new_m,
    __global float *new_v, int n, int each, float beta1, float rest1, float beta2, float rest2,
    float eps) {
    const int start = (int)get_group_id(0) * each;
    const int stop = min(n, start + each);
    const int whole = start + (stop - start) / V * V;
    const float by = *size, below = *root, keeps = *shrink;
    for (int i = start + (int)get_local_id(0) * V; i < whole; i += L * V) {
        vector a = GET(i, p), b = GET(i, g), c = GET(i, m), d = GET(i, v);
        STEP(a, b, c, d)
        PUT(a, i, new_p);
        PUT(c, i, new_m);
        PUT(d, i, new_v);
    }
    for (int i = whole + (int)get_local_id(0); i < stop; i += L) {
        float a = p[i], b = g[i], c = m[i], d = v[i];
        STEP(a, b, c, d)
        new_p[i] = a;
        new_m[i] = c;
        new_v[i] = d;
    }
}
"""


def moved(
    arrays: Mapping[str, Tensor], scalars: Mapping[str, Tensor], betas: tuple[float, float],
    eps: float,
) -> dict[str, Tensor] | None:  # fmt: skip
    """Update a parameter; return None if primitives should do it.

    Parameters
    ----------
    arrays : dict of Tensor
        ``p``, ``g``, ``m``, ``v``: float32, of equal shapes.
    scalars : dict of Tensor ()
        Step ``size``, ``root`` of the bias correction of ``v``, ``shrink``: a factor for ``p``.
    betas, eps : float

    Returns
    -------
    dict of Tensor or None
        ``p``, ``m`` and ``v``.
    """
    p = arrays["p"]
    if not _is_taken(arrays):
        return None
    kernels = Kernels(p.trace, _SOURCE, "float32", 16)
    if not kernels.can_run("adam_step"):
        return None
    given = {n: dense(t) for n, t in (*arrays.items(), *scalars.items())}
    each = _each(p, kernels.n_items * 16)
    outs = {f"new_{n}": Out(p.shape, "float32", p) for n in ("p", "m", "v")}
    numbers = [p.size, each, betas[0], 1.0 - betas[0], betas[1], 1.0 - betas[1], eps]
    made = kernels.record("adam_step", given, outs, numbers, -(-p.size // each))
    return {n: made[f"new_{n}"] for n in ("p", "m", "v")}


def _each(p: Tensor, unit: int) -> int:
    """Return the number of elements per group, a multiple of those processed at a time."""
    n_groups = p.trace.engine.sycl_queue.sycl_device.max_compute_units * _PARTS
    return -(-max(p.size // n_groups, 1) // unit) * unit


def _is_taken(arrays: Mapping[str, Tensor]) -> bool:
    p = arrays["p"]
    if not all(isinstance(t, Tensor) and t.dtype == "float32" for t in arrays.values()):
        return False
    mode = p.trace.policy.kernels
    # Kernels are not differentiable: a step that is differentiated uses primitives.
    if mode == "never" or p.trace.training or not p.size:
        return False
    if p.desc != layout.row_major(p.shape, p.dtype) or p.size * 4 >= _MOST:
        return False
    is_cpu = p.trace.engine.kind is _core.engine_kind.cpu
    return mode == "always" or (is_cpu and p.size * 4 >= _LEAST)
