# SPDX-License-Identifier: Apache-2.0
"""A translator of LSTM layers with attention, in float32.

Counterpart of oneDNN's cpu_rnn_inference_f32.
"""

import numpy as np
from _example import Example, run
from _gnmt_inference import FEATURES, SENTENCES, WORDS, expected, random_weights, translate


def main(example: Example) -> None:
    """Encode sentences, decode word by word, compare with NumPy."""
    weights = random_weights(example)
    source = np.tanh(example.normal(WORDS, SENTENCES, FEATURES))
    actual = translate(example, weights, source, integers=False)
    example.compare("outputs", actual, expected(weights, source), 1e-4)


if __name__ == "__main__":
    run(main, __doc__)
