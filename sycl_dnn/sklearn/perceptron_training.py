# SPDX-License-Identifier: Apache-2.0
"""Programs that train multilayer perceptrons and predict, and reading their layers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.data import Batches, Metrics

#: Layers as pairs of weight (n_in, n_out) and bias (n_out,).
Layers = list[tuple[Any, Any]]

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu, "tanh": F.tanh, "logistic": F.sigmoid, "gelu": F.gelu, "silu": F.silu,
    "identity": lambda x: x,
}  # fmt: skip
OPTIMIZERS: dict[str, Callable[[float], optim.Optimizer]] = {
    "adam": optim.Adam, "adamw": optim.AdamW, "rmsprop": optim.RMSprop, "lion": optim.Lion,
    "sgd": lambda lr: optim.SGD(lr, momentum=0.9, nesterov=True),
}  # fmt: skip
#: Rows of one call when predicting: each row has the same result whatever other rows there are.
_BLOCK = 512


class Settings(NamedTuple):
    """What a training program depends on, in addition to shapes."""

    activation: str
    is_classifier: bool
    alpha: float
    optimizer: str
    rate: float


def initial(sizes: list[int], activation: str, random: np.random.RandomState) -> Layers:
    """Return layers drawn by Glorot's rule, on the host."""
    made = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True):
        bound = math.sqrt((2.0 if activation == "logistic" else 6.0) / (n_in + n_out))
        weight = random.uniform(-bound, bound, (n_in, n_out)).astype("f4")
        made.append((weight, random.uniform(-bound, bound, n_out).astype("f4")))
    return made


def on_device(layers: Layers, queue: Any) -> Layers:
    """Return layers on a queue."""
    return [tuple(dpnp.asarray(a, sycl_queue=queue) for a in layer) for layer in layers]


def on_host(layers: Layers) -> Layers:
    """Return layers as NumPy arrays."""
    return [tuple(dpnp.asnumpy(a) for a in layer) for layer in layers]


def _scores(layers: Layers, x: Any, activation: str) -> Any:
    for number, (weight, bias) in enumerate(layers):
        x = F.add(F.matmul(x, weight), bias)
        if number < len(layers) - 1:
            x = ACTIVATIONS[activation](x)
    return x


@functools.lru_cache(32)
def _step(settings: Settings) -> tuple[optim.Optimizer, Any]:
    """Return an optimiser and a compiled step with it."""
    optimizer = OPTIMIZERS[settings.optimizer](settings.rate)

    def loss(layers: Layers, x: Any, y: Any) -> Any:
        scores = _scores(layers, x, settings.activation)
        if settings.is_classifier:
            value = F.cross_entropy(scores, y)
        else:
            value = F.mul(F.mse_loss(scores, y), 0.5)
        if settings.alpha:
            for weight, _ in layers:
                decay = 0.5 * settings.alpha / x.shape[0]
                value = F.add(value, F.mul(F.sum(F.square(weight)), decay))
        return value

    @sycl_dnn.compile
    def step(layers: Layers, state: Any, x: Any, y: Any) -> Any:
        value, grads = sycl_dnn.value_and_grad(loss)(layers, x, y)
        return value, *optimizer.update(grads, state, layers)

    return optimizer, step


class Trained(NamedTuple):
    """Layers and the state of their optimiser; None before the first step."""

    layers: Layers
    state: Any = None

    def moved(self, place: Callable[[Any], Any]) -> Trained:
        """Return the same with ``place(array)`` for each array."""
        return Trained(*sycl_dnn.tree.map(place, tuple(self)))


def epochs(
    begun: Trained, settings: Settings, x: Any, y: Any, batch_size: int, shuffle: bool, seed: int
) -> Iterator[tuple[float, Trained]]:
    """Yield the mean loss of each epoch and the trained layers, without end."""
    optimizer, step = _step(settings)
    layers, state = begun
    state = optimizer.init(layers) if state is None else state
    batches = Batches((x, y), batch_size, shuffle=shuffle, seed=seed)
    while True:
        metrics = Metrics()
        for of_x, of_y in batches:
            value, layers, state = step(layers, state, of_x, of_y)
            metrics.add(weight=of_x.shape[0], loss=value)
        yield metrics.result()["loss"], Trained(layers, state)


@functools.lru_cache(32)
def _predictor(activation: str, is_classifier: bool) -> Any:
    @sycl_dnn.compile
    def predict(layers: Layers, x: Any) -> Any:
        scores = _scores(layers, x, activation)
        return F.softmax(scores, -1) if is_classifier else scores

    return predict


def predicted(layers: Layers, x: Any, activation: str, is_classifier: bool) -> Any:
    """Return probabilities of classes (N, C), or values (N, outputs)."""
    predict, made = _predictor(activation, is_classifier), []
    for first in range(0, x.shape[0], _BLOCK):
        block = x[first : first + _BLOCK]
        n = block.shape[0]
        if n < _BLOCK:
            block = F.pad(block, (0, 0, 0, _BLOCK - n))
        made.append(predict(layers, block)[:n])
    return made[0] if len(made) == 1 else dpnp.concatenate(made)
