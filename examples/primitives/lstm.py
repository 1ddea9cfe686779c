# SPDX-License-Identifier: Apache-2.0
"""Four layers of LSTM over a batch of sentences; the states before the first word are 0.

Counterpart of oneDNN's primitives/lstm.
"""

from _primitive_example import Example, lstm_step, recur, run, unroll

from sycl_dnn import onednn as dnnl

T, N, C, GATES, LAYERS = 6, 26, 12, 4, 4


def main(example: Example) -> None:
    """Run the layers in one primitive."""
    arrays = {
        "src_layer": example.normal(T, N, C),
        "weights_layer": example.normal(LAYERS, 1, C, GATES, C),
        "weights_iter": example.normal(LAYERS, 1, C, GATES, C),
        "bias": example.normal(LAYERS, 1, GATES, C),
    }
    actual = recur(example, dnnl.lstm_forward, arrays)
    example.compare("dst_layer", actual["dst_layer"], unroll(lstm_step, arrays, n_states=2))


if __name__ == "__main__":
    run(main, __doc__)
