# SPDX-License-Identifier: Apache-2.0
"""Softmax and its logarithm along any axis as kernels, forward and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sycl_dnn.kernels import softmax_rows
from sycl_dnn.kernels.choice import is_chosen, is_missing
from sycl_dnn.kernels.launching import Kernels, in_layout, shares
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: The size of a block of slices in the cache, in elements, and adjacent vectors.
_CACHED, _MOST_SIDE_BY_SIDE = 1 << 16, 4

#: A work-item computes blocks of ``U`` vectors of adjacent slices; where a row of slices
#: ends, the last vectors overlap and write the same twice. A slice has ``length`` elements,
#: ``inner`` apart; NaN in it, or only minus infinity, makes all of it NaN.
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

__kernel void softmax_slices_forward(__global const element *x, __global element *y, int blocks,
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

__kernel void softmax_slices_backward(__global const element *y, __global const element *dy,
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
    """Return softmax along an axis; None to use oneDNN.

    ``composed`` records oneDNN's. Along any but the innermost axis, that of narrow dtypes, if the
    device has them, is as fast: only their gradients are used.
    """
    if not layout.is_dense(x.desc) or not is_chosen("softmax", x):
        return None
    way = (_rows if x.desc.strides[axis] == 1 else _slices)(x, axis, is_log)
    return None if way is None else way.recorded(x, composed)


class _Way(NamedTuple):
    """Kernels, the prefix of their names, and their arguments."""

    kernels: Kernels
    name: str
    numbers: list[int]
    n_groups: int
    #: Whether oneDNN's primitive computes the value.
    is_gradient: bool

    def recorded(self, x: Tensor, composed: Callable[[], Tensor]) -> Tensor | None:
        """Return softmax of ``x``; None without a compiler."""
        if not self.kernels.can_run(f"{self.name}_forward"):
            return None
        made: list[Tensor] = []

        def body() -> Tensor:
            made.append(composed() if self.is_gradient else self._run("forward", {"src": x}, "dst"))
            return made[0]

        def rule(dy: Tensor) -> dict[str, Tensor]:
            given = {"dst": made[0], "diff_dst": dy}
            given = {n: in_layout(t, x.desc) for n, t in given.items()}
            return {"src": self._run("backward", given, "diff_src")}

        return x.trace.closed({"src": x}, body, rule, composed)

    def _run(self, direction: str, given: dict[str, Tensor], name: str) -> Tensor:
        like = next(iter(given.values()))
        out = {name: Out(like.shape, like.dtype, like)}
        kernel = f"{self.name}_{direction}"
        return self.kernels.record(kernel, given, out, self.numbers, self.n_groups)[name]


def _slices(x: Tensor, axis: int, is_log: bool) -> _Way | None:
    length, inner = x.shape[axis], x.desc.strides[axis]
    if inner < 8 or length * 8 > _CACHED:
        return None
    vector = 16 if inner >= 16 else 8
    sides = min(-(-inner // vector), _MOST_SIDE_BY_SIDE, max(_CACHED // (length * vector), 1))
    macros = [f"U {sides}", *(["LOGARITHM"] if is_log else [])]
    kernels = Kernels(x.trace, _SOURCE, x.dtype, vector, macros)
    blocks = x.size // (length * inner) * -(-inner // (sides * vector))
    each, n_groups = shares(x, blocks)
    is_fast = x.dtype != "float32" and not is_missing(x)
    is_gradient = is_fast and x.trace.policy.kernels != "always"
    return _Way(kernels, "softmax_slices", [blocks, each, length, inner], n_groups, is_gradient)


def _rows(x: Tensor, axis: int, is_log: bool) -> _Way | None:
    length, rows = x.shape[axis], x.size // x.shape[axis]
    vector = 16 if length >= 16 else 8
    side = max(softmax_rows.SIDE_BY_SIDE // -(-length // vector), 1)
    # Compiled functions find attention by the primitive.
    if not vector <= length <= softmax_rows.LONGEST or rows < side or x.trace.is_compiled:
        return None
    macros = [f"LENGTH {length}", f"SIDES {side}", *(["LOGARITHM"] if is_log else [])]
    kernels = Kernels(x.trace, softmax_rows.SOURCE, x.dtype, vector, macros)
    blocks = -(-rows // side)
    each, n_groups = shares(x, blocks)
    return _Way(kernels, "softmax_rows", [blocks, each, rows], n_groups, False)
