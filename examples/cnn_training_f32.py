# SPDX-License-Identifier: Apache-2.0
"""Train the head of AlexNet in float32: convolution, ReLU, LRN, max pooling, and back.

Batch 32 of 3x227x227 images; oneDNN chooses layouts, reorders are added where needed. Counterpart
of oneDNN's cnn_training_f32.cpp. ``--data guide`` uses the numbers of oneDNN's
cpu_cnn_training_f32.c, each tensor 0, 1, 2 ... 1636, 0, 1 ... With them the convolution's results
reach 1e9, for which oneDNN's fastest LRN on CPUs returns zeros, so another one is chosen.

The same step follows as one compiled function of ``sycl_dnn.functional``. oneDNN lacks a compiled
LRN gradient on CPUs without AVX-512: there its reference implementation takes most of the time of
the primitives (``sycl_dnn.ReferenceWarning`` says so), and the function, which avoids it, is
faster.

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
from _functional_head import FunctionalHead
from _training_data import HEAD_SHAPES, HeadData

import sycl_dnn

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
    networks = (
        ("oneDNN's primitives", primitives(queue, data, is_huge=kind == "guide", **types)),
        ("compiled function", FunctionalHead(queue, data, types.get("data_type", "f32"))),
    )
    for title, network in networks:
        print(f"{title}:")
        _program.train(network, options.steps)
        if expected is not None:
            _program.compare(network.outputs, expected, tolerance)


def primitives(
    queue: dpctl.SyclQueue, data: HeadData, *, is_huge: bool, **types: str
) -> AlexNetHead:
    """Return the step of primitives; narrow tensors are only stored if nothing computes in them."""
    try:
        return AlexNetHead(queue, data, is_huge=is_huge, **types)
    except sycl_dnn.Unimplemented:
        stored = types.get("data_type", "f32")
        if stored == "f32":
            raise
        print(
            f"{stored} is only stored here: this device has no primitives for it, so each computes "
            "in f32, between reorders"
        )
        return AlexNetHead(queue, data, is_huge=is_huge, computes="f32", **types)


if __name__ == "__main__":
    parser = _program.parser(__doc__)
    parser.add_argument(
        "--data",
        choices=("random", "guide"),
        default="random",
        help="what goes in (default: random)",
    )
    run(*start(parser), MARGIN, TOLERANCE)
