# SPDX-License-Identifier: Apache-2.0
"""The training steps of the examples in NumPy and float64, written from the formulas."""

from __future__ import annotations

import numpy as np
from _training_data import HeadData, LstmData
from numpy.lib.stride_tricks import sliding_window_view

# --- AlexNet head: one image at a time, (C, H, W) -------------------------------------------------

STRIDE, LOCAL_SIZE, ALPHA, BETA = 4, 5, 1e-4, 0.75


def patches(image: np.ndarray, kernel: int) -> np.ndarray:
    """Columns of the convolution: (C, H, W) -> (C * kernel**2, positions)."""
    seen = sliding_window_view(image, (kernel, kernel), axis=(1, 2))[:, ::STRIDE, ::STRIDE]
    return seen.transpose(0, 3, 4, 1, 2).reshape(-1, seen.shape[1] * seen.shape[2])


def over_channels(x: np.ndarray) -> np.ndarray:
    """Sum over ``LOCAL_SIZE`` neighboring channels of (C, H, W)."""
    half = LOCAL_SIZE // 2
    padded = np.pad(x, ((half, half), (0, 0), (0, 0)))
    return np.add.reduce([padded[i : i + len(x)] for i in range(LOCAL_SIZE)])


def windows(x: np.ndarray) -> np.ndarray:
    """Pooling windows 3x3 with stride 2: (C, H, W) -> (C, OH, OW, 9)."""
    seen = sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
    return seen.reshape(*seen.shape[:3], 9)


def spread(diff: np.ndarray, winner: np.ndarray, shape: tuple) -> np.ndarray:
    """Add each pooled gradient (C, OH, OW) to its window's winner, one of 9."""
    total = np.zeros(shape)
    high, wide = 2 * diff.shape[1], 2 * diff.shape[2]
    for at in range(9):
        y, x = divmod(at, 3)
        total[:, y : y + high : 2, x : x + wide : 2] += np.where(winner == at, diff, 0)
    return total


def head_of_image(
    columns: np.ndarray, weights: np.ndarray, bias: np.ndarray, margin: float
) -> tuple:
    """Forward: columns (363, 3025), weights (96, 363) -> what backward needs, and clear winners.

    A winner is clear if it exceeds the second largest of its window by more than ``margin``, in
    units of the root mean square of the pooled values.
    """
    side = int(np.sqrt(columns.shape[1]))
    conv = (weights @ columns + bias[:, None]).reshape(-1, side, side)
    relu = np.maximum(conv, 0)
    scale = 1 + ALPHA / LOCAL_SIZE * over_channels(relu**2)
    normalized = relu * scale**-BETA
    seen = windows(normalized)
    second, first = np.moveaxis(np.partition(seen, 7, axis=3)[..., 7:], 3, 0)
    unit = np.sqrt(np.mean(normalized**2))
    return relu, scale, seen.argmax(3), first, first - second > margin * unit


def alexnet_head(data: HeadData, margin: float = 0.0) -> dict[str, np.ndarray]:
    """Compute the outputs of `AlexNetHead`.

    Returns
    -------
    dict of str to array
        dst, diff_weights, diff_bias; and ``clear``, bool like dst, False where the two largest
        values of a pooling window are within ``margin`` (see `head_of_image`). Rounding decides
        which of them gets the gradient, so a comparison must set that gradient to 0. The
        gradients here are those of ``diff_dst * clear``.
    """
    src, weights, bias, diff_dst = data
    flat = np.asarray(weights, "f8").reshape(len(weights), -1)
    dst, clear = np.zeros(diff_dst.shape), np.zeros(diff_dst.shape, bool)
    diff_weights, diff_bias = np.zeros(flat.shape), np.zeros(len(flat))
    for i, image in enumerate(src):
        columns = patches(np.asarray(image, "f8"), weights.shape[-1])
        relu, scale, winner, dst[i], clear[i] = head_of_image(columns, flat, bias, margin)
        diff = spread(diff_dst[i] * clear[i], winner, relu.shape)
        coupled = over_channels(diff * relu * scale ** (-BETA - 1))
        diff = diff * scale**-BETA - 2 * ALPHA / LOCAL_SIZE * BETA * relu * coupled
        diff = np.where(relu > 0, diff, 0).reshape(len(flat), -1)
        diff_weights += diff @ columns.T
        diff_bias += diff.sum(1)
    gradients = {"diff_weights": diff_weights.reshape(weights.shape), "diff_bias": diff_bias}
    return {"dst": dst, "clear": clear, **gradients}


# --- LSTM: all sentences in one loop over words --------------------------------------------------


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Logistic function, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def lstm_forward(below: np.ndarray, recurrent: np.ndarray, lengths: list[int]) -> tuple:
    """Run the cell: ``below`` (T, N, 4, C) is the input's part of the gates, with the bias.

    The first ``lengths[t]`` sentences have a word at step t. Returns the activated gates
    (T, N, 4, C), and the states (T + 1, N, C) and cells (T + 1, N, C) before each step.
    """
    steps, n, _, channels = below.shape
    gates = np.zeros(below.shape)
    h, c = np.zeros((2, steps + 1, n, channels))
    for t, live in enumerate(lengths):
        raw = below[t, :live] + (h[t, :live] @ recurrent).reshape(live, 4, channels)
        i, f, o = (sigmoid(raw[:, gate]) for gate in (0, 1, 3))
        g = np.tanh(raw[:, 2])
        gates[t, :live] = np.stack((i, f, g, o), axis=1)
        c[t + 1, :live] = f * c[t, :live] + i * g
        h[t + 1, :live] = o * np.tanh(c[t + 1, :live])
    return gates, h, c


def lstm_backward(
    gates: np.ndarray,
    c: np.ndarray,
    recurrent: np.ndarray,
    diff_dst: np.ndarray,
    lengths: list[int],
) -> np.ndarray:
    """Gradient in the gates before activation, (T, N, 4, C), from that in the resulting states."""
    diff = np.zeros(gates.shape)
    dh, dc = (np.zeros(diff_dst.shape[1:]) for _ in range(2))
    for t, live in reversed(list(enumerate(lengths))):
        i, f, g, o = np.moveaxis(gates[t, :live], 1, 0)
        squashed = np.tanh(c[t + 1, :live])
        up = diff_dst[t, :live] + dh[:live]
        inner = dc[:live] + up * o * (1 - squashed**2)
        parts = (inner * g, inner * c[t, :live], inner * i, up * squashed)
        slopes = (i * (1 - i), f * (1 - f), 1 - g**2, o * (1 - o))
        diff[t, :live] = np.stack([a * b for a, b in zip(parts, slopes, strict=True)], axis=1)
        dh[:live] = diff[t, :live].reshape(live, -1) @ recurrent.T
        dc[:live] = inner * f
    return diff


def lstm(data: LstmData) -> dict[str, np.ndarray]:
    """Compute the outputs of `GnmtLstm`."""
    src, weights_layer, weights_iter, bias, diff_dst, n_long, short = data
    steps, n, channels = src.shape
    lengths = [n if t < short else n_long for t in range(steps)]
    layer, recurrent = (
        np.asarray(w, "f8").reshape(channels, -1) for w in (weights_layer, weights_iter)
    )
    words = np.asarray(src, "f8").reshape(-1, channels)
    below = (words @ layer).reshape(steps, n, 4, channels) + bias[0, 0]
    gates, h, c = lstm_forward(below, recurrent, lengths)
    diff = lstm_backward(gates, c, recurrent, diff_dst, lengths)
    rows = diff.reshape(steps * n, -1)
    return {
        "dst_left": h[1 : short + 1],
        "dst_right": h[short + 1 :, :n_long],
        "diff_src": (rows @ layer.T).reshape(src.shape),
        "diff_weights_layer": (words.T @ rows).reshape(weights_layer.shape),
        "diff_weights_iter": (h[:-1].reshape(-1, channels).T @ rows).reshape(weights_iter.shape),
        "diff_bias": rows.sum(0).reshape(bias.shape),
    }
