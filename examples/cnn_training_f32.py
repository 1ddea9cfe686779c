# SPDX-License-Identifier: Apache-2.0
"""Train the head of AlexNet in float32: convolution, ReLU, LRN, max pooling, and back.

Batch 32 of 3x227x227 images; oneDNN chooses layouts, reorders are made where needed. Counterpart
of oneDNN's cnn_training_f32.cpp.

The check computes the whole step again in float64 NumPy and compares every element of the output
and of both gradients. The gradient that goes in is 0 where rounding decides which element of a
pooling window is the largest.
"""

from __future__ import annotations

import _alexnet_head
import _common
import _numpy_check
import _program
import numpy as np

#: How far apart the two largest values of a pooling window must be, for rounding not to turn
#: them over; see `_numpy_check.head_of_image`.
MARGIN = 1e-5
TOLERANCE = 1e-5


def inputs() -> dict[str, np.ndarray]:
    """Make random images, parameters, and gradient of the loss in the output."""
    draw = np.random.default_rng(0).standard_normal
    return {
        "src": draw(_alexnet_head.SRC, "f4"),
        "weights": draw(_alexnet_head.WEIGHTS, "f4") / np.float32(16),
        "bias": draw(_alexnet_head.BIAS, "f4"),
        "diff_dst": draw(_alexnet_head.POOL, "f4"),
    }


def run(options: object, margin: float, tolerance: float, **types: str) -> None:
    """Train in the given types, then check unless ``--no-check``."""
    queue = _common.open_queue(options.device)
    arrays = inputs()
    if not options.no_check:
        expected = _numpy_check.alexnet_head(**arrays, margin=margin)
        arrays["diff_dst"] *= expected["clear"]
    network = _alexnet_head.AlexNetHead(queue, **arrays, **types)
    _program.train(network, queue, options.steps)
    if not options.no_check:
        _program.compare(network.outputs, expected, tolerance)


if __name__ == "__main__":
    run(_program.parser(__doc__).parse_args(), MARGIN, TOLERANCE)
