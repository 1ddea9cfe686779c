# SPDX-License-Identifier: Apache-2.0
"""Training steps in MLX: value, gradients and its AdamW as one function under ``mx.compile``."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
import numpy as np

from rivals import losses


class Operations:
    """The operations of the networks in MLX."""

    xp = mx
    gelu, silu, relu, hardswish = map(staticmethod, (nn.gelu, nn.silu, nn.relu, nn.hardswish))
    logsumexp = staticmethod(mx.logsumexp)

    def hardsigmoid(self, x: Any) -> Any:
        """Return a straight line from 0 at -3 to 1 at 3."""
        return mx.clip(x + 3, 0, 6) / 6

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        """Normalize the last axis."""
        return mx.fast.layer_norm(x, weight, bias, 1e-5)

    def attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        """Attention of (N, T, heads, features)."""
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
        mask = "causal" if causal else None
        result = mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)
        return result.swapaxes(1, 2)

    def conv(self, x: Any, weight: Any, stride: int, padding: int, groups: int) -> Any:
        """Convolve (N, H, W, C) with (outputs, H, W, inputs)."""
        return mx.conv2d(x, weight, stride, padding, groups=groups)

    def max_pool(self, x: Any) -> Any:
        """Pool windows of 3 by 3 with stride 2 and a padding of 1."""
        return nn.MaxPool2d(3, 2, 1)(x)

    def lstm(self, gates: Any, weight: Any, reverse: bool) -> Any:
        """Map (N, T, 4 hidden), the inputs' part of the gates, to (N, T, hidden)."""
        length, result = gates.shape[1], {}
        h = c = mx.zeros((gates.shape[0], gates.shape[2] // 4), gates.dtype)
        for t in reversed(range(length)) if reverse else range(length):
            i, f, g, o = mx.split(gates[:, t] + h @ weight.T, 4, -1)
            c = mx.sigmoid(f) * c + mx.sigmoid(i) * mx.tanh(g)
            result[t] = h = mx.sigmoid(o) * mx.tanh(c)
        return mx.stack([result[t] for t in range(length)], 1)


class Side:
    """One program: value, gradients, AdamW."""

    def __init__(self, rate: float) -> None:
        mx.set_default_device(mx.cpu)
        self._opt = optimizers.AdamW(rate, bias_correction=True)
        self.version = f"mlx {importlib.metadata.version('mlx')}"

    def start(self, name: str, kind: str, dtype: str, weights: Path, batches: list[Any]) -> None:
        """Create parameters, batches and the step."""
        narrow = None if dtype == "float32" else getattr(mx, dtype)
        graded = mx.value_and_grad(losses.loss_of(name, kind, Operations(), narrow))
        parameters, running = losses.split_state(np.load(weights), (0, 2, 3, 1))
        self._state = {
            "p": {n: mx.array(a) for n, a in parameters.items()},
            "running": {n: mx.array(a) for n, a in running.items()},
        }
        self._opt.init(self._state["p"])
        self._batches = [[mx.array(a) for a in losses.channels_last(b)] for b in batches]
        held = [self._state, self._opt.state]

        def step(*batch: Any) -> Any:
            state = self._state
            (value, running), grads = graded(state["p"], state["running"], *batch)
            state["p"] = self._opt.apply_gradients(grads, state["p"])
            state["running"] = running
            return value

        self._held, self._step = held, mx.compile(step, inputs=held, outputs=held)
        mx.eval(held)

    def step(self, number: int) -> Any:
        """Run one step."""
        value = self._step(*self._batches[number % len(self._batches)])
        mx.eval(value, self._held)
        return value
