# SPDX-License-Identifier: Apache-2.0
"""The trained networks by name: module, batches, loss; in the library that `library.py` chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from models import training_nets as nets
from models.library import F


@dataclass(frozen=True)
class Entry:
    """A network with batches of one size."""

    module: Callable[[], Any]
    #: ``batch(rng)`` is what ``loss(net, *batch)`` takes, as NumPy arrays.
    batch: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    loss: Callable[..., Any]

    def batches(self, count: int) -> list[tuple[np.ndarray, ...]]:
        """Return batches, the same in each process."""
        rng = np.random.default_rng(0)
        return [self.batch(rng) for _ in range(count)]


def class_loss(net: Any, x: Any, labels: Any) -> Any:
    """Return the mean cross-entropy of one class for each row."""
    return F.cross_entropy(net(x), labels)


def text_loss(net: Any, letters: Any, following: Any) -> Any:
    """Return the mean cross-entropy of the next letters."""
    logits = net(letters)
    n, t, classes = logits.shape
    return F.cross_entropy(logits.reshape((n * t, classes)), following.reshape((n * t,)))


def noise_loss(net: Any, images: Any, steps: Any, noise: Any) -> Any:
    """Return the mean square error of a guess at the noise."""
    return F.mse_loss(net(images, steps), noise)


def _text(n: int, t: int, vocabulary: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    letters = rng.integers(0, vocabulary, (n, t + 1))
    return letters[:, :-1].copy(), letters[:, 1:].copy()


def _sentences(
    n: int, t: int, vocabulary: int, classes: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    return rng.integers(0, vocabulary, (n, t)), rng.integers(0, classes, n)


def _images(n: int, size: int, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    images = rng.standard_normal((n, 3, size, size), dtype=np.float32)
    return images, rng.integers(0, classes, n)


def _noisy(n: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    images, noise = (rng.standard_normal((n, 3, size, size), dtype=np.float32) for _ in range(2))
    return images, rng.integers(0, 1000, n), noise


#: What is measured.
ENTRIES = {
    "gpt": Entry(nets.GPT, partial(_text, 16, 128, 1000), text_loss),
    "resnet18": Entry(nets.ResNet18, partial(_images, 32, 64, 100), class_loss),
    "unet": Entry(nets.UNet, partial(_noisy, 8, 32), noise_loss),
    "lstm": Entry(nets.Classifier, partial(_sentences, 32, 100, 10000, 4), class_loss),
    "mobilenetv3": Entry(nets.MobileNetV3, partial(_images, 16, 96, 100), class_loss),
    "bert": Entry(nets.Bert, partial(_sentences, 2, 128, 30522, 2), class_loss),
}
#: The same in sizes at which times mean nothing.
TINY = {
    "gpt": Entry(partial(nets.GPT, 50, 8, 32, 4, 1), partial(_text, 2, 8, 50), text_loss),
    "resnet18": Entry(partial(nets.ResNet18, 10, 16), partial(_images, 8, 64, 10), class_loss),
    "unet": Entry(partial(nets.UNet, 3, (8, 16), 16), partial(_noisy, 2, 8), noise_loss),
    "lstm": Entry(
        partial(nets.Classifier, 50, 8, 16), partial(_sentences, 4, 6, 50, 4), class_loss
    ),
    "mobilenetv3": Entry(
        partial(nets.MobileNetV3, 10, nets.MOBILE[:4]), partial(_images, 8, 64, 10), class_loss
    ),
    "bert": Entry(
        partial(nets.Bert, 50, 8, 32, 4, 1), partial(_sentences, 2, 8, 50, 2), class_loss
    ),
}
