# SPDX-License-Identifier: Apache-2.0
"""Train an LSTM layer of GNMT, 1024 channels wide, over sentences of two lengths.

11 sentences of 35 words and 6 of 8 words are padded in one array. Two primitives share state,
parameters and gradients: one for the words that all sentences have, and one for the rest of the
long ones. Counterpart of oneDNN's rnn_training_f32.cpp.

The check computes the whole step again in float64 NumPy, in one loop over words, and compares
every element of the outputs and of the gradients in words, weights and bias.
"""

from __future__ import annotations

import _numpy_check
import _program
import numpy as np
from _common import start
from _gnmt_lstm import GnmtLstm
from _training_data import LstmData, lstm_shapes

CHANNELS = 1024
LONG, SHORT = 35, 8
N_LONG, N_SHORT = 11, 6
TOLERANCE = 1e-5


def inputs() -> LstmData:
    """Return random words and parameters, and a random gradient of the loss in the output."""
    random = np.random.default_rng(0)
    shapes = lstm_shapes(LONG, N_LONG + N_SHORT, CHANNELS)
    scale = np.float32(1 / 32)  # 1 / sqrt(CHANNELS)
    src, weights_layer, weights_iter, bias, diff_dst = (
        random.standard_normal(shape, "f4") for shape in shapes
    )
    parameters = weights_layer * scale, weights_iter * scale, bias * scale
    return LstmData(src, *parameters, diff_dst, N_LONG, SHORT)


def main() -> None:
    """Train according to the options, then check unless ``--no-check``."""
    options, queue = start(_program.parser(__doc__))
    data = inputs()
    network = GnmtLstm(queue, data)
    _program.train(network, options.steps)
    if not options.no_check:
        _program.compare(network.outputs, _numpy_check.lstm(data), TOLERANCE)


if __name__ == "__main__":
    main()
