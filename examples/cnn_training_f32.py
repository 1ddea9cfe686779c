# SPDX-License-Identifier: Apache-2.0
"""Train the head of AlexNet in float32: convolution, ReLU, LRN, max pooling, and back.

Batch 32 of 3x227x227 images; oneDNN chooses layouts, reorders are added where needed. Counterpart
of oneDNN's cnn_training_f32.cpp. ``--data guide`` uses the numbers of oneDNN's
cpu_cnn_training_f32.c, each tensor 0, 1, 2 ... 1636, 0, 1 ... With them the convolution's results
reach 1e9, for which oneDNN's fastest LRN on CPUs returns zeros, so another one is chosen.

The check computes the whole step again in float64 NumPy and compares every element of the output
and of both gradients. The incoming gradient is 0 where rounding decides which element of a pooling
window is the largest.
"""

from __future__ import annotations

import argparse
import math

import _numpy_check
import _program
import dpctl
import numpy as np
from _alexnet_head import AlexNetHead
from _common import start
from _training_data import HEAD_SHAPES, HeadData

#: The minimum distance between the two largest values of a pooling window for which rounding
#: cannot swap them; see `_numpy_check.head_of_image`.
MARGIN = 1e-5
TOLERANCE = 1e-5


def inputs(kind: str) -> HeadData:
    """Return images, parameters and the loss's gradient in the output: random, or the guide's."""
    if kind == "guide":
        counted = (np.arange(math.prod(shape)) % 1637 for shape in HEAD_SHAPES)
        return HeadData(
            *(n.astype("f4").reshape(s) for n, s in zip(counted, HEAD_SHAPES, strict=True))
        )
    random = np.random.default_rng(0)
    data = HeadData(*(random.standard_normal(shape, "f4") for shape in HEAD_SHAPES))
    return data._replace(weights=data.weights / np.float32(16))


def run(
    options: argparse.Namespace,
    queue: dpctl.SyclQueue,
    margin: float,
    tolerance: float,
    **types: str,
) -> None:
    """Train in the given types, then check unless ``--no-check``."""
    kind = getattr(options, "data", "random")
    data = inputs(kind)
    expected = None if options.no_check else _numpy_check.alexnet_head(data, margin)
    if expected is not None:
        data = data._replace(diff_dst=data.diff_dst * expected["clear"])
    network = AlexNetHead(queue, data, is_huge=kind == "guide", **types)
    _program.train(network, options.steps)
    if expected is not None:
        _program.compare(network.outputs, expected, tolerance)


if __name__ == "__main__":
    parser = _program.parser(__doc__)
    parser.add_argument(
        "--data",
        choices=("random", "guide"),
        default="random",
        help="what goes in (default: random)",
    )
    run(*start(parser), MARGIN, TOLERANCE)
