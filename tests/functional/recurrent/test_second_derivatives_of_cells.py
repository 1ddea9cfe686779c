# SPDX-License-Identifier: Apache-2.0
"""Higher derivatives of recurrent layers: those of the recurrence written step by step."""

import dpnp
import numpy as np
import pytest
from functional.on_device import to_numpy
from functional.recurrent_reference import GATES

import sycl_dnn
from sycl_dnn import functional as F

N_STEPS, BATCH, CHANNELS, HIDDEN = 3, 2, 4, 3


def _lstm(a, b, h, c, projection):
    i, f, g, o = F.chunk(a + b, 4, 1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
    h = F.sigmoid(o) * F.tanh(c)
    return (h if projection is None else h @ projection.T), c


def _gru(a, b, h, c, projection):
    (a_r, a_z, a_n), (b_r, b_z, b_n) = F.chunk(a, 3, 1), F.chunk(b, 3, 1)
    z = F.sigmoid(a_z + b_z)
    return (1 - z) * F.tanh(a_n + F.sigmoid(a_r + b_r) * b_n) + z * h, c


STEPS = {
    "lstm": _lstm, "gru": _gru,
    "rnn_tanh": lambda a, b, h, c, projection: (F.tanh(a + b), c),
    "rnn_relu": lambda a, b, h, c, projection: (F.relu(a + b), c),
}  # fmt: skip


def one_direction(kind, x, h, c, weights, has_bias, reverse):
    """Run one layer step by step; return its outputs and last states."""
    w, u, *others = weights
    a, b = others[:2] if has_bias else (None, None)
    projection = others[-1] if len(others) % 2 else None
    outputs = {}
    for t in reversed(range(N_STEPS)) if reverse else range(N_STEPS):
        h, c = STEPS[kind](F.linear(x[t], w, a), F.linear(h, u, b), h, c, projection)
        outputs[t] = h
    return F.stack([outputs[t] for t in range(N_STEPS)]), h, c


def step_by_step(kind, x, states, params, layers, sides, has_bias):
    """Do what the functions do, in PyTorch's order of weights and gates."""
    each, ends = len(params) // (layers * sides), []
    for layer in range(layers):
        results = []
        for side in range(sides):
            k = layer * sides + side
            h, c = states[0][k], states[-1][k]
            weights = params[k * each : (k + 1) * each]
            y, h, c = one_direction(kind, x, h, c, weights, has_bias, side == 1)
            results.append(y)
            ends += [h, c] if kind == "lstm" else [h]
        x = F.cat(results, 2)
    return x, ends


def fused(kind, x, states, params, layers, sides, has_bias):
    """Call the function."""
    hx = tuple(states) if kind == "lstm" else states[0]
    options = {"num_layers": layers, "bidirectional": sides == 2, "bias": has_bias}
    y, last = getattr(F, kind)(x, hx, list(params), **options)
    return y, [e[k] for k in range(layers * sides) for e in (last if kind == "lstm" else [last])]


def loss_of(function, *options):
    def loss(x, states, params):
        y, ends = function(options[0], x, states, params, *options[1:])
        return F.sum(y * y) + sum(F.sum(F.sin(e * 1.3)) for e in ends)

    return loss


def slopes_of(loss):
    """A function that depends on every element of the gradients."""

    def slopes(*args):
        grads = sycl_dnn.tree.leaves(sycl_dnn.grad(loss, argnums=(0, 1, 2))(*args))
        return sum(F.sum(g * g) + F.sum(F.sin(g * 0.3)) for g in grads)

    return slopes


def operands(kind, layers, sides, has_bias, projected, queue):
    rng = np.random.default_rng(7)

    def draw(*shape):
        return dpnp.asarray(rng.normal(size=shape) * 0.5, dtype="f4", sycl_queue=queue)

    rows, width = GATES[kind] * HIDDEN, projected or HIDDEN
    params = []
    for layer in range(layers):
        for _ in range(sides):
            params += [draw(rows, sides * width if layer else CHANNELS), draw(rows, width)]
            params += [draw(rows), draw(rows)] if has_bias else []
            params += [draw(width, HIDDEN)] if projected else []
    sizes = [width, HIDDEN] if kind == "lstm" else [HIDDEN]
    states = [draw(layers * sides, BATCH, size) for size in sizes]
    return draw(N_STEPS, BATCH, CHANNELS), states, params


NETWORKS = [
    *((kind, 1, 1, True, 0) for kind in GATES), *((kind, 2, 2, True, 0) for kind in GATES),
    *((kind, 1, 2, False, 0) for kind in GATES), ("lstm", 2, 2, True, 2),
]  # fmt: skip


@pytest.mark.sweep(45)
@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile], ids=["called", "compiled"])
@pytest.mark.parametrize(("kind", "layers", "sides", "has_bias", "projected"), NETWORKS)
def test_second_derivatives(kind, layers, sides, has_bias, projected, wrap, queue):
    args = operands(kind, layers, sides, has_bias, projected, queue)
    actual, expected = (
        sycl_dnn.tree.leaves(f(sycl_dnn.grad(slopes_of(loss), argnums=(0, 1, 2)))(*args))
        for f, loss in (
            (wrap, loss_of(fused, kind, layers, sides, has_bias)),
            (sycl_dnn.compile, loss_of(step_by_step, kind, layers, sides, has_bias)),
        )
    )
    for a, b in zip(actual, expected, strict=True):
        b = to_numpy(b)
        np.testing.assert_allclose(to_numpy(a), b, rtol=2e-4, atol=2e-5 * np.abs(b).max())


@pytest.mark.slow
def test_third_derivatives(queue):
    args = operands("lstm", 1, 1, True, 0, queue)

    def third(loss):
        inner = slopes_of(loss)
        return sycl_dnn.grad(lambda x: F.sum(sycl_dnn.grad(inner)(x, *args[1:]) ** 2))

    actual, expected = (
        third(loss_of(f, "lstm", 1, 1, True))(args[0]) for f in (fused, step_by_step)
    )
    np.testing.assert_allclose(to_numpy(actual), to_numpy(expected), rtol=1e-3, atol=1e-4)
