# SPDX-License-Identifier: Apache-2.0
"""What goes into the training steps: float32 NumPy arrays, and their shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class HeadData(NamedTuple):
    """The head of AlexNet: a batch of 32 images through convolution and pooling.

    ``diff_dst`` is the gradient of the loss in the output of the pooling.
    """

    src: np.ndarray  # (32, 3, 227, 227)
    weights: np.ndarray  # (96, 3, 11, 11), of the convolution, stride 4
    bias: np.ndarray  # (96,)
    diff_dst: np.ndarray  # (32, 96, 27, 27)


#: Of the arrays of ``HeadData``, in its order.
HEAD_SHAPES = ((32, 3, 227, 227), (96, 3, 11, 11), (96,), (32, 96, 27, 27))


class LstmData(NamedTuple):
    """An LSTM layer over T words of N sentences, C channels wide.

    The sentences lie padded: the first ``n_long`` have T words, the others ``short``. Gates come
    in the order input, forget, candidate, output. Padding of ``src``, and of the gradient of the
    loss in the layer's output, ``diff_dst``, is not read.
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
