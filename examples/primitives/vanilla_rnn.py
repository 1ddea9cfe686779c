# SPDX-License-Identifier: Apache-2.0
"""The simplest recurrent layer: tanh of the weighted word and the weighted state.

Counterpart of oneDNN's primitives/vanilla_rnn.
"""

import numpy as np
from _primitive_example import Example, recur, run, unroll

from sycl_dnn import onednn as dnnl

T, N, C = 3, 2, 4


def step(x, w, u, b, h):
    """Return the state after a word."""
    return (np.tanh(x @ w[:, 0] + h @ u[:, 0] + b[0]),)


def main(example: Example) -> None:
    """Run one layer."""
    arrays = {
        "src_layer": example.normal(T, N, C),
        "weights_layer": example.normal(1, 1, C, 1, C),
        "weights_iter": example.normal(1, 1, C, 1, C),
        "bias": example.normal(1, 1, 1, C),
    }
    activation = dnnl.algorithm.eltwise_tanh
    actual = recur(example, dnnl.vanilla_rnn_forward, arrays, activation=activation)
    example.compare("dst_layer", actual["dst_layer"], unroll(step, arrays))


if __name__ == "__main__":
    run(main, __doc__)
