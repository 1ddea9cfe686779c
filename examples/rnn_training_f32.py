# SPDX-License-Identifier: Apache-2.0
"""Train an LSTM layer of GNMT, 1024 channels wide, over sentences of two lengths.

11 sentences of 35 words and 6 of 8 words lie padded in one array. Two primitives, one for the
words that all sentences have and one for the rest of the long ones, share state, parameters and
gradients. Counterpart of oneDNN's rnn_training_f32.cpp.

The check computes the whole step again in float64 NumPy, in one loop over words, and compares
every element of the outputs and of the gradients in words, weights and bias.
"""

from __future__ import annotations

import _common
import _gnmt_lstm
import _numpy_check
import _program
import numpy as np

CHANNELS = 1024
LONG, SHORT = 35, 8
N_LONG, N_SHORT = 11, 6
TOLERANCE = 1e-5


def inputs() -> dict[str, np.ndarray]:
    """Make random words, parameters, and gradient of the loss in the output."""
    draw = np.random.default_rng(0).standard_normal
    words = (LONG, N_LONG + N_SHORT, CHANNELS)
    weights = (1, 1, CHANNELS, 4, CHANNELS)
    scale = np.float32(1 / 32)  # 1 / sqrt(CHANNELS)
    return {
        "src": draw(words, "f4"),
        "weights_layer": draw(weights, "f4") * scale,
        "weights_iter": draw(weights, "f4") * scale,
        "bias": draw((1, 1, 4, CHANNELS), "f4") * scale,
        "diff_dst": draw(words, "f4"),
    }


def main() -> None:
    """Train as the options say, then check unless ``--no-check``."""
    options = _program.parser(__doc__).parse_args()
    arrays = inputs()
    queue = _common.open_queue(options.device)
    network = _gnmt_lstm.GnmtLstm(queue, **arrays, n_long=N_LONG, short=SHORT)
    _program.train(network, queue, options.steps)
    if not options.no_check:
        expected = _numpy_check.lstm(**arrays, n_long=N_LONG, short=SHORT)
        _program.compare(network.outputs, expected, TOLERANCE)


if __name__ == "__main__":
    main()
