# SPDX-License-Identifier: Apache-2.0
"""Batches of the trained networks as NumPy arrays, the same in each process and library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

Batch = Callable[[np.random.Generator], tuple[np.ndarray, ...]]


def batches(batch: Batch, count: int) -> list[tuple[np.ndarray, ...]]:
    """Return this many batches."""
    rng = np.random.default_rng(0)
    return [batch(rng) for _ in range(count)]


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
FULL: dict[str, Batch] = {
    "gpt": partial(_text, 16, 128, 1000),
    "resnet18": partial(_images, 32, 64, 100),
    "unet": partial(_noisy, 8, 32),
    "lstm": partial(_sentences, 32, 100, 10000, 4),
    "mobilenetv3": partial(_images, 16, 96, 100),
    "bert": partial(_sentences, 2, 128, 30522, 2),
}
#: The same in small sizes, at which times mean nothing.
TINY: dict[str, Batch] = {
    "gpt": partial(_text, 2, 8, 50),
    "resnet18": partial(_images, 8, 64, 10),
    "unet": partial(_noisy, 2, 8),
    "lstm": partial(_sentences, 4, 6, 50, 4),
    "mobilenetv3": partial(_images, 8, 64, 10),
    "bert": partial(_sentences, 2, 8, 50, 2),
}
