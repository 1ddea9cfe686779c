# SPDX-License-Identifier: Apache-2.0
"""The inputs of the training steps: float32 NumPy arrays, and their shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class HeadData(NamedTuple):
    """Inputs of the head of AlexNet: a batch of 32 images, for convolution and pooling.

    ``diff_dst`` is the gradient of the loss in the output of the pooling.
    """

    src: np.ndarray  # (32, 3, 227, 227)
    weights: np.ndarray  # (96, 3, 11, 11), of the convolution, stride 4
    bias: np.ndarray  # (96,)
    diff_dst: np.ndarray  # (32, 96, 27, 27)


#: Shapes of the arrays of ``HeadData``, in its order.
HEAD_SHAPES = ((32, 3, 227, 227), (96, 3, 11, 11), (96,), (32, 96, 27, 27))


class LstmData(NamedTuple):
    """Inputs of an LSTM layer over T words of N sentences, C channels wide.

    The sentences are padded: the first ``n_long`` have T words, the others ``short``. The order of
    gates is input, forget, candidate, output. Padding of ``src``, and of ``diff_dst``, the gradient
    of the loss in the layer's output, is not read.
    """

    src: np.ndarray  # (T, N, C)
    weights_layer: np.ndarray  # (1, 1, C, 4, C): layer, direction, input, gate, output
    weights_iter: np.ndarray  # (1, 1, C, 4, C)
    bias: np.ndarray  # (1, 1, 4, C)
    diff_dst: np.ndarray  # (T, N, C)
    n_long: int
    short: int


def lstm_shapes(steps: int, n: int, channels: int) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the five arrays of `LstmData`."""
    words, weights = (steps, n, channels), (1, 1, channels, 4, channels)
    return words, weights, weights, (1, 1, 4, channels), words
