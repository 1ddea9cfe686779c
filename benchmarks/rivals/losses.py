# SPDX-License-Identifier: Apache-2.0
"""The losses of `models/training_zoo.py`, and conversions of torch's parameters for rivals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rivals import nets

#: Heads of attention, full and tiny.
_HEADS = {"gpt": (8, 4), "bert": (12, 4)}


def loss_of(name: str, kind: str, ops: Any, narrow: Any) -> Callable[..., Any]:
    """Return ``loss(parameters, statistics, *batch)``, which returns a number and statistics.

    ``narrow`` is the dtype that matrices and images are converted to, None for float32. Norms,
    losses and sums remain in float32, as under autocast.
    """
    function = {"lstm": nets.classifier}.get(name) or getattr(nets, name)
    more = [_HEADS[name][kind == "tiny"]] if name in _HEADS else []

    def narrowed(array: Any, rank: int) -> Any:
        wide = narrow is not None and array.dtype == ops.xp.float32 and array.ndim >= rank
        return array.astype(narrow) if wide else array

    def loss(parameters: dict[str, Any], statistics: dict[str, Any], *batch: Any) -> Any:
        ops.statistics, ops.updates = statistics, {}
        net = nets.Network(ops, {n: narrowed(p, 2) for n, p in parameters.items()})
        *inputs, expected = batch
        y = function(net, *(narrowed(x, 4) for x in inputs), *more).astype(ops.xp.float32)
        if expected.dtype == ops.xp.float32:
            return ((y - expected) ** 2).mean(), ops.updates
        logits, classes = y.reshape(-1, y.shape[-1]), expected.reshape(-1, 1)
        chosen = ops.xp.take_along_axis(logits, classes, 1)[:, 0]
        return (ops.logsumexp(logits, -1) - chosen).mean(), ops.updates

    return loss


def split_state(weights: Any, axes: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and running statistics; weights of convolutions get these axes."""
    given = {n: weights[n] for n in weights if not n.endswith("num_batches_tracked")}
    turned = {n: np.ascontiguousarray(a.transpose(axes)) if a.ndim == 4 else a
              for n, a in given.items()}  # fmt: skip
    running = {n: a for n, a in turned.items() if ".running_" in n}
    return {n: a for n, a in turned.items() if n not in running}, running


def channels_last(batch: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Return images as (N, H, W, C), and indices as 32 bits."""
    return [
        np.ascontiguousarray(a.transpose(0, 2, 3, 1)) if a.ndim == 4 else a.astype(np.int32)
        for a in batch
    ]
