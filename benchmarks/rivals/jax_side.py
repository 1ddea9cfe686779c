# SPDX-License-Identifier: Apache-2.0
"""Training steps in JAX: value, gradients and AdamW as one function under ``jax.jit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rivals import losses

BETAS, EPS, DECAY = (0.9, 0.999), 1e-8, 1e-2


class Operations:
    """The operations of the networks in JAX."""

    xp = jnp
    gelu = staticmethod(lambda x: jax.nn.gelu(x, approximate=False))
    silu, relu, hardswish = map(staticmethod, (jax.nn.silu, jax.nn.relu, jax.nn.hard_swish))
    hardsigmoid = staticmethod(jax.nn.hard_sigmoid)
    logsumexp = staticmethod(jax.nn.logsumexp)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        """Normalize the last axis in float32."""
        y = x.astype(jnp.float32)
        y = y - y.mean(-1, keepdims=True)
        y = y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5)
        return (y * weight + bias).astype(x.dtype)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        """Attention of (N, T, heads, features)."""
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal)

    def conv(self, x: Any, weight: Any, stride: int, padding: int, groups: int) -> Any:
        """Convolve (N, H, W, C) with (H, W, inputs, outputs)."""
        return jax.lax.conv_general_dilated(
            x, weight, (stride,) * 2, [(padding, padding)] * 2, feature_group_count=groups,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )  # fmt: skip

    def max_pool(self, x: Any) -> Any:
        """Pool windows of 3 by 3 with stride 2 and a padding of 1."""
        pads = ((0, 0), (1, 1), (1, 1), (0, 0))
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), pads)

    def lstm(self, gates: Any, weight: Any, reverse: bool) -> Any:
        """Map (N, T, 4 hidden), the inputs' part of the gates, to (N, T, hidden)."""

        def step(state: Any, share: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(share + h @ weight.T, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        first = jnp.zeros((gates.shape[0], gates.shape[2] // 4), gates.dtype)
        _, y = jax.lax.scan(step, (first, first), gates.swapaxes(0, 1), reverse=reverse)
        return y.swapaxes(0, 1)


def adamw(rate: float, p: Any, g: Any, m: Any, v: Any, t: Any) -> Any:
    """Return parameter and moments after one step."""
    m = BETAS[0] * m + (1 - BETAS[0]) * g
    v = BETAS[1] * v + (1 - BETAS[1]) * g * g
    root = jnp.sqrt(v) / jnp.sqrt(1 - BETAS[1] ** t) + EPS
    return p * (1 - rate * DECAY) - rate / (1 - BETAS[0] ** t) * m / root, m, v


class Side:
    """One program: value, gradients, AdamW."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self.version = f"jax {jax.__version__}"

    def start(self, name: str, kind: str, dtype: str, weights: Path, batches: list[Any]) -> None:
        """Create parameters, batches and the step."""
        narrow = None if dtype == "float32" else jnp.dtype(dtype)
        loss = losses.loss_of(name, kind, Operations(), narrow)
        parameters, running = losses.split_state(np.load(weights), (2, 3, 1, 0))
        self._p = {n: jnp.asarray(a) for n, a in parameters.items()}
        self._running = {n: jnp.asarray(a) for n, a in running.items()}
        self._m = {n: jnp.zeros_like(a) for n, a in self._p.items()}
        self._v = {n: jnp.zeros_like(a) for n, a in self._p.items()}
        self._t = jnp.zeros((), jnp.float32)
        self._batches = [[jnp.asarray(a) for a in losses.channels_last(b)] for b in batches]
        graded = jax.value_and_grad(loss, has_aux=True)

        def step(p: Any, running: Any, m: Any, v: Any, t: Any, *batch: Any) -> Any:
            (value, running), grads = graded(p, running, *batch)
            t = t + 1
            rows = {n: adamw(self._rate, p[n], grads[n], m[n], v[n], t) for n in p}
            return value, *({n: row[i] for n, row in rows.items()} for i in range(3)), running, t

        self._step = jax.jit(step, donate_argnums=(0, 1, 2, 3, 4))

    def step(self, number: int) -> Any:
        """Run one step."""
        batch = self._batches[number % len(self._batches)]
        value, self._p, self._m, self._v, self._running, self._t = self._step(
            self._p, self._running, self._m, self._v, self._t, *batch
        )
        jax.block_until_ready(self._p)
        return value
