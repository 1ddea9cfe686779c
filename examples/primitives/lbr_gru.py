# SPDX-License-Identifier: Apache-2.0
"""GRU that resets after the product (linear before reset), with its fourth row of biases.

Counterpart of oneDNN's primitives/lbr_gru.
"""

import numpy as np
from _primitive_example import Example, recur, run, sigmoid, unroll

from sycl_dnn import onednn as dnnl

T, N, IC, OC, GATES = 3, 2, 2, 3, 3


def step(x, w, u, b, h):
    """Return the state after a word; gates: update, reset, candidate."""
    below, before = np.tensordot(x, w, 1) + b[:3], np.tensordot(h, u, 1)
    update, reset = (sigmoid(below[:, gate] + before[:, gate]) for gate in (0, 1))
    candidate = np.tanh(below[:, 2] + reset * (before[:, 2] + b[3]))
    return (update * h + (1 - update) * candidate,)


def main(example: Example) -> None:
    """Run one layer."""
    arrays = {
        "src_layer": example.normal(T, N, IC),
        "weights_layer": example.normal(1, 1, IC, GATES, OC),
        "weights_iter": example.normal(1, 1, OC, GATES, OC),
        "bias": example.normal(1, 1, GATES + 1, OC),
    }
    actual = recur(example, dnnl.lbr_gru_forward, arrays)
    example.compare("dst_layer", actual["dst_layer"], unroll(step, arrays))


if __name__ == "__main__":
    run(main, __doc__)
