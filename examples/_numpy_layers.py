# SPDX-License-Identifier: Apache-2.0
"""Layers of networks in NumPy, written from their formulas, for the checks of the examples."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def convolve(
    src: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, padding: int
) -> np.ndarray:
    """Convolve images (N, C, H, W) with (groups, O / groups, C / groups, K, K); bias is (O,)."""
    kernel = weights.shape[-1]
    padded = np.pad(src, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    seen = sliding_window_view(padded, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    seen = seen.reshape(len(src), len(weights), -1, *seen.shape[2:])
    result = np.einsum("ngiyxkl,goikl->ngoyx", seen, weights, optimize=True)
    return result.reshape(len(src), -1, *result.shape[3:]) + bias[:, None, None]


def max_pool(src: np.ndarray, kernel: int, stride: int, skipped: int = 0) -> np.ndarray:
    """Return the largest value of each window; ``skipped`` pixels are between those of a window."""
    extent = kernel + (kernel - 1) * skipped
    seen = sliding_window_view(src, (extent, extent), (2, 3))[:, :, ::stride, ::stride]
    return seen[..., :: skipped + 1, :: skipped + 1].max((4, 5))


def normalize_response(
    src: np.ndarray, size: int, alpha: float, beta: float, k: float
) -> np.ndarray:
    """Divide by a power of the mean square of ``size`` neighboring channels."""
    squares = np.pad(src.astype("f8") ** 2, ((0, 0), (size // 2,) * 2, (0, 0), (0, 0)))
    total = sliding_window_view(squares, size, axis=1).sum(-1)
    return src * (k + alpha / size * total) ** -beta


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return the logistic function."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def lstm_step(
    x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return output and cell after a word; gates: input, forget, candidate, output.

    x (N, C), w (C, 4, D), u (S, 4, D), b (4, D), h (N, S), c (N, D).
    """
    i, f, g, o = np.moveaxis(np.tensordot(x, w, 1) + np.tensordot(h, u, 1) + b, 1, 0)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def unroll(step, arrays: dict[str, np.ndarray], n_states: int = 1) -> np.ndarray:
    """Return the outputs (T, N, D) of all steps through all layers in float64, from zero states.

    ``arrays`` has src_layer (T, N, C), weights_layer (L, 1, C, G, D), weights_iter
    (L, 1, D, G, D) and bias (L, 1, G, D). ``step(x, weights_layer, weights_iter, bias, *states)``
    returns the states after a word, the output first.
    """
    exact = {name: x.astype("f8") for name, x in arrays.items()}
    x = exact["src_layer"]
    for layer in range(len(exact["bias"])):
        weights = [exact[n][layer, 0] for n in ("weights_layer", "weights_iter", "bias")]
        states, outputs = [np.zeros((x.shape[1], weights[2].shape[-1]))] * n_states, []
        for word in x:
            states = step(word, *weights, *states)
            outputs.append(states[0])
        x = np.stack(outputs)
    return x
