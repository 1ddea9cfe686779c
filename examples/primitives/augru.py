# SPDX-License-Identifier: Apache-2.0
"""GRU with attention: each word of each sentence has a weight that slows its update.

Counterpart of oneDNN's primitives/augru.
"""

import numpy as np
from _primitive_example import Example, recur, run, sigmoid, unroll

from sycl_dnn import onednn as dnnl

T, N, C, GATES = 6, 26, 12, 3


def main(example: Example) -> None:
    """Run one layer."""
    attention = example.rng.random((T, N, 1), dtype=np.float32)
    arrays = {
        "src_layer": example.normal(T, N, C),
        "augru_attention": attention,
        "weights_layer": example.normal(1, 1, C, GATES, C),
        "weights_iter": example.normal(1, 1, C, GATES, C),
        "bias": example.normal(1, 1, GATES, C),
    }

    slowing = iter(1 - attention)

    def step(x, w, u, b, h):
        """Return the state after the next word; gates: update, reset, candidate."""
        below = np.tensordot(x, w, 1) + b
        update, reset = (sigmoid(below[:, gate] + h @ u[:, gate]) for gate in (0, 1))
        candidate = np.tanh(below[:, 2] + (reset * h) @ u[:, 2])
        update = next(slowing) * update
        return (update * h + (1 - update) * candidate,)

    actual = recur(example, dnnl.augru_forward, arrays)
    example.compare("dst_layer", actual["dst_layer"], unroll(step, arrays))


if __name__ == "__main__":
    run(main, __doc__)
