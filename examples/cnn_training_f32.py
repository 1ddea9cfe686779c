# SPDX-License-Identifier: Apache-2.0
"""Train the head of AlexNet in float32: convolution, ReLU, LRN, max pooling, and back.

Batch 32 of 3x227x227 images; oneDNN chooses layouts, reorders are made where needed. Counterpart
of oneDNN's cnn_training_f32.cpp.

The check computes the whole step again in float64 NumPy and compares every element of the output
and of both gradients. The gradient that goes in is 0 where rounding decides which element of a
pooling window is the largest.
"""

from __future__ import annotations

import _numpy_check
import _program
import numpy as np
from _alexnet_head import AlexNetHead
from _common import start
from _training_data import HEAD_SHAPES, HeadData

#: How far apart the two largest values of a pooling window must be, for rounding not to turn
#: them over; see `_numpy_check.head_of_image`.
MARGIN = 1e-5
TOLERANCE = 1e-5


def inputs() -> HeadData:
    """Make random images, parameters, and gradient of the loss in the output."""
    random = np.random.default_rng(0)
    data = HeadData(*(random.standard_normal(shape, "f4") for shape in HEAD_SHAPES))
    return data._replace(weights=data.weights / np.float32(16))


def run(options: object, queue: object, margin: float, tolerance: float, **types: str) -> None:
    """Train in the given types, then check unless ``--no-check``."""
    data = inputs()
    if not options.no_check:
        expected = _numpy_check.alexnet_head(data, margin)
        data = data._replace(diff_dst=data.diff_dst * expected["clear"])
    network = AlexNetHead(queue, data, **types)
    _program.train(network, options.steps)
    if not options.no_check:
        _program.compare(network.outputs, expected, tolerance)


if __name__ == "__main__":
    run(*start(_program.parser(__doc__)), MARGIN, TOLERANCE)
