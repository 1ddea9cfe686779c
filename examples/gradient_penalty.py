# SPDX-License-Identifier: Apache-2.0
"""A critic with a gradient penalty (WGAN-GP): a loss that contains a gradient, in one program.

The penalty keeps the norm of the critic's gradient with respect to its input near 1. Its derivative
with respect to the weights is a second derivative: it is compared with finite differences, then the
critic is trained.
"""

from __future__ import annotations

import dpnp
import numpy as np
from _common import make_parser, open_queue
from _training import finish

import sycl_dnn
from sycl_dnn import functional as F

BATCH, CHANNELS, SIZE, WIDTH = 16, 1, 8, 16
WEIGHT = 10.0


def critic(params, images):
    """Return one number for each image."""
    hidden = F.conv2d(images, params["conv"], params["bias"], stride=2, padding=1)
    hidden = F.silu(hidden)
    return F.linear(hidden.reshape(BATCH, -1), params["out"])


def penalty(params, images):
    """Return the mean of ``(norm of the critic's gradient - 1)**2``."""
    grads = sycl_dnn.grad(lambda x: F.sum(critic(params, x)))(images)
    norms = F.norm(grads.reshape(BATCH, -1), 2, 1)
    return F.mean(F.square(norms - 1.0))


def loss(params, real, drawn, mixed):
    """Return the critic's loss: high scores for real images, low scores for generated ones."""
    margin = F.mean(critic(params, drawn)) - F.mean(critic(params, real))
    held = penalty(params, mixed)
    return margin + WEIGHT * held, held


@sycl_dnn.compile
def step(params, real, drawn, mixed, rate):
    """Return updated parameters, the loss and the penalty."""
    take = sycl_dnn.value_and_grad(loss, has_aux=True)
    (value, held), grads = take(params, real, drawn, mixed)
    moved = sycl_dnn.tree.map(lambda p, g: p - rate * g, params, grads)
    return moved, value, held


def slope_error(params, images, rng) -> float:
    """Return the relative error of the penalty's gradient against finite differences."""
    value, grads = sycl_dnn.value_and_grad(penalty)(params, images)
    moves = {
        n: dpnp.asarray(rng.standard_normal(p.shape).astype("f4"), sycl_queue=p.sycl_queue)
        for n, p in params.items()
    }
    eps = 2e-3
    ends = [
        float(penalty({n: p + sign * eps * moves[n] for n, p in params.items()}, images))
        for sign in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * eps)
    actual = sum(float((grads[n] * moves[n]).sum()) for n in params)
    return abs(actual - expected) / abs(expected)


def main() -> None:
    """Check the penalty's gradient, then train."""
    options = make_parser(__doc__).parse_args()
    queue = open_queue(options.device)
    rng = np.random.default_rng(0)

    def draw(scale, *shape):
        values = rng.normal(0, scale, shape).astype("f4")
        return dpnp.asarray(values, sycl_queue=queue)

    params = {
        "conv": draw(0.3, WIDTH, CHANNELS, 3, 3),
        "bias": draw(0.1, WIDTH),
        "out": draw(0.05, 1, WIDTH * (SIZE // 2) ** 2),
    }
    shape = (BATCH, CHANNELS, SIZE, SIZE)
    if not options.no_check:
        error = slope_error(params, draw(1.0, *shape), rng)
        print(f"gradient of the penalty: off by {error:.1e}")
        assert error < 1e-2
    history = []
    for _ in range(60):
        real, drawn = draw(0.5, *shape) + 0.5, draw(0.5, *shape) - 0.5
        share = draw(0.2, BATCH, 1, 1, 1) + 0.5
        mixed = drawn + share * (real - drawn)
        params, value, held = step(params, real, drawn, mixed, 0.01)
        history.append((float(value), float(held)))
    (first, before), (last, after) = history[0], history[-1]
    print(f"loss {first:.2f} to {last:.2f}, penalty {before:.3f} to {after:.3f}")
    assert options.no_check or (last < first and after < before)
    finish(options, "gradient_penalty", [loss for loss, _ in history])


if __name__ == "__main__":
    main()
