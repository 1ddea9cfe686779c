# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``ctc_loss``, forward and gradient, with one sequence per group."""

from __future__ import annotations

import dpctl

from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, Tensors, dense
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: The states are a blank, the first label, a blank, ..., the last label, a blank. ``sums`` has the
#: logarithms of sums over all alignments up to a step and state.
_SOURCE = """
#if L == 1
#define WAIT
#else
#define WAIT barrier(CLK_GLOBAL_MEM_FENCE);
#endif
#define PARAMETERS \\
    __global const float *scores, __global const int *targets, __global const int *n_steps, \\
    __global const int *lengths
#define NUMBERS int time, int n, int classes, int states, int width, int n_targets, int blank
#define BEGIN \\
    const int row = get_group_id(0), length = lengths[row], steps = n_steps[row]; \\
    long start = (long)row * width; \\
    if (IS_FLAT) { \\
        start = 0; \\
        for (int i = 0; i < row; ++i) start += lengths[i]; \\
    } \\
    const bool misfits = steps < 0 || steps > time || length < 0 || length > states / 2 \\
        || (IS_FLAT && start + length > n_targets); \\
    const int most = min(steps, time);
#define LABEL(s) ((s) & 1 ? targets[clamp(start + (s) / 2, 0L, (long)n_targets - 1)] : blank)
#define PLACE(t, s) (((long)(t) * n + row) * states + (s))

// Equal infinities differ by 0; NaN stays.
float both(float a, float b) {
    const float high = a > b ? a : b, low = a > b ? b : a;
    return a == b ? a + M_LN2_F : high + log1p(exp(low - high));
}

float score(__global const float *row, int label, int classes, bool is_read) {
    const bool exists = 0 <= label && label < classes;
    return exists || !is_read ? row[clamp(label, 0, classes - 1)] : NAN;
}

ONE_ITEM
__kernel void alignments_forward(PARAMETERS, __global float *losses, __global float *sums,
                                 NUMBERS) {
    BEGIN
    for (int t = 0; t < max(most, 1); ++t) {
        __global const float *from = scores + ((long)t * n + row) * classes;
        for (int s = ITEM; s < states; s += L) {
            const int label = LABEL(s);
            float a = 0;
            if (t) {
                a = sums[PLACE(t - 1, s)];
                if (s) a = both(a, sums[PLACE(t - 1, s - 1)]);
                if (s > 2 && (s & 1) && label != blank && label != LABEL(s - 2))
                    a = both(a, sums[PLACE(t - 1, s - 2)]);
            }
            const bool is_reached = t || s < 2;
            a += score(from, label, classes, s <= 2 * length);
            sums[PLACE(t, s)] = is_reached ? a : -INFINITY;
        }
        WAIT
    }
    if (ITEM == 0) {
        float found = NAN;
        if (!misfits) {
            found = length ? -INFINITY : 0;
            if (steps) {
                found = sums[PLACE(most - 1, 2 * length)];
                if (length) found = both(found, sums[PLACE(most - 1, 2 * length - 1)]);
            }
        }
        losses[row] = -found;
    }
}

// As in torch, assumes a preceding softmax.
ONE_ITEM
__kernel void alignments_backward(PARAMETERS, __global const float *losses,
                                  __global const float *sums, __global const float *dy,
                                  __global float *dx, __global float *later, NUMBERS) {
    BEGIN
    const float loss = losses[row], factor = dy[row];
    const bool is_lost = IS_ZEROED && isinf(loss), is_known = !misfits && isfinite(loss);
    __global float *beta = later + (long)row * 3 * states, *shares = beta + 2 * states;
    for (int t = time - 1; t >= 0; --t) {
        const long at = ((long)t * n + row) * classes;
        __global float *now = beta + (t & 1) * states, *next = beta + (~t & 1) * states;
        const bool is_inside = t < steps;
        for (int s = ITEM; is_inside && is_known && s < states; s += L) {
            float a = s == 2 * length || s == 2 * length - 1 ? 0 : -INFINITY;
            if (t + 1 < steps) {
                a = next[s];
                if (s + 1 < states) a = both(a, next[s + 1]);
                if (s + 2 < states && (s & 1) && LABEL(s + 2) != blank && LABEL(s + 2) != LABEL(s))
                    a = both(a, next[s + 2]);
            }
            shares[s] = exp(sums[PLACE(t, s)] + a + loss);
            now[s] = a + score(scores + at, LABEL(s), classes, s <= 2 * length);
        }
        for (int c = ITEM; c < classes; c += L) {
            const float value = !is_inside ? 0 : is_known ? exp(scores[at + c]) : NAN;
            dx[at + c] = is_lost ? 0 : value * factor;
        }
        WAIT
        if (ITEM == 0 && is_inside && is_known) {
            for (int s = 0; s <= 2 * length; ++s) dx[at + LABEL(s)] -= shares[s] * factor;
        }
        WAIT
    }
}
"""


class Alignments:
    """The kernels for log-probabilities (T, N, C) of float32.

    ``tensors``: log-probabilities, targets (N, S) or (sum of lengths,), numbers of steps (N,),
    lengths (N,); all but the first of int32. ``is_zeroed``: whether the gradients of infinite
    losses are 0.
    """

    def __init__(self, tensors: list[Tensor], n_states: int, blank: int, is_zeroed: bool) -> None:
        scores, targets = tensors[:2]
        names = ("scores", "targets", "n_steps", "lengths")
        self._given = {n: dense(t) for n, t in zip(names, tensors, strict=True)}
        is_flat = targets.ndim == 1
        defined = [f"IS_FLAT {int(is_flat)}", f"IS_ZEROED {int(is_zeroed)}"]
        self._kernels = Kernels(scores.trace, _SOURCE, "float32", 8, defined)
        width = 0 if is_flat else targets.shape[1]
        self._numbers = [*scores.shape, n_states, width, targets.size, blank]
        self._scores, self._n_states = scores, n_states

    def can_run(self) -> bool:
        """Whether the device has a compiler that accepts the kernels."""
        return self._kernels.can_run("alignments_forward")

    def forward(self) -> Tensors:
        """Return ``losses`` (N,), and ``sums`` for the gradient."""
        steps, n, _ = self._scores.shape
        outs = {"losses": Out((n,), "float32"), "sums": Out((steps, n, self._n_states), "float32")}
        return self._kernels.record("alignments_forward", self._given, outs, self._numbers, n)

    def gradient(self, forward_outputs: Tensors, dy: Tensor) -> Tensor:
        """Return the gradient of the log-probabilities, given what ``forward`` returned."""
        n = self._scores.shape[1]
        outs = {"dx": Out(self._scores.shape, "float32"),
                "later": Out((n, 3, self._n_states), "float32")}  # fmt: skip
        inputs = {**self._given, **forward_outputs, "dy": dense(dy)}
        return self._kernels.record("alignments_backward", inputs, outs, self._numbers, n)["dx"]


def can_align(scores: Tensor) -> bool:
    """Whether the kernels support these log-probabilities; otherwise dpnp is used."""
    is_opencl = scores.trace.engine.sycl_queue.backend == dpctl.backend_type.opencl
    is_used = scores.trace.policy.kernels != "never"
    return is_opencl and is_used and scores.dtype == "float32" and 0 < scores.size < MAX_SPAN
