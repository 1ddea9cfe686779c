# SPDX-License-Identifier: Apache-2.0
"""Attention over dpnp arrays: plain, causal, masked, grouped queries, and its gradient.

Each form is compared with a NumPy computation in float64.
"""

from __future__ import annotations

import time
from typing import Any

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue

import sycl_dnn
from sycl_dnn import functional as F

BATCH, HEADS, LENGTH, WIDTH = 1, 12, 512, 64


def numpy_attention(q, k, v, mask=None):
    """Return softmax(q k^T / sqrt(width) + mask) v in float64."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    if k.shape[1] != q.shape[1]:
        k, v = (np.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def forms(rng):
    """Yield name, arrays, options and mask of each form."""
    shape = (BATCH, HEADS, LENGTH, WIDTH)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    causal = np.tril(np.ones((LENGTH, LENGTH), bool))
    random = rng.random((LENGTH, LENGTH)) < 0.8
    random[:, 0] = True
    yield "plain", (q, k, v), {}, None
    yield "causal", (q, k, v), {"is_causal": True}, causal
    yield "masked", (q, k, v), {"attn_mask": random}, random
    yield "grouped queries", (q, k[:, :4].copy(), v[:, :4].copy()), {"enable_gqa": True}, None


def check_gradient(queue, rng) -> float:
    """Return the error of a directional derivative against central differences."""
    shape = (1, 2, 16, 8)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for _ in range(3)]
    moves = [rng.standard_normal(shape) for _ in range(3)]
    on_device = [dpnp.asarray(a, sycl_queue=queue) for a in arrays]
    y, pullback = sycl_dnn.vjp(F.scaled_dot_product_attention, *on_device)
    grads = [dpnp.asnumpy(g) for g in pullback(dpnp.ones_like(y))]

    def moved(step):
        return numpy_attention(*[a + step * m for a, m in zip(arrays, moves, strict=True)])

    step = 1e-5
    ahead = moved(step).sum()
    back = moved(-step).sum()
    found = sum((g * m).sum() for g, m in zip(grads, moves, strict=True))
    return abs(found - (ahead - back) / (2 * step))


def main() -> None:
    """Compute each form and compare it with NumPy."""
    options = make_parser(__doc__).parse_args()
    queue = open_queue(options.device)
    rng = np.random.default_rng(0)
    for name, (q, k, v), settings, mask in forms(rng):
        on_device = [dpnp.asarray(a, sycl_queue=queue) for a in (q, k, v)]
        given: dict[str, Any] = {
            n: dpnp.asarray(s, sycl_queue=queue) if isinstance(s, np.ndarray) else s
            for n, s in settings.items()
        }
        bound = sycl_dnn.plan(F.scaled_dot_product_attention, *on_device, **given)
        y = dpnp.asnumpy(bound())
        start = time.perf_counter()
        for _ in range(10):
            bound()
        queue.wait()
        took = (time.perf_counter() - start) * 100
        error = np.abs(y - numpy_attention(q, k, v, mask)).max()
        print(f"{name}: {took:.2f} ms, largest error {error:.1e}")
        assert options.no_check or error < 1e-5
    error = check_gradient(queue, rng)
    print(f"gradient: off by {error:.1e} along a random direction")
    assert options.no_check or error < 1e-2
    finish(options, "attention")


if __name__ == "__main__":
    main()
