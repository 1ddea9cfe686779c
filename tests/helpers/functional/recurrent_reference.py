# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks in NumPy, and as torch computes them."""

import numpy as np

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _sigmoid(v):
    return 1 / (1 + np.exp(-v))


def _lstm_step(x, h, c, w, u, b, d, hidden):
    i, f, g, o = np.split(x @ w.T + h @ u.T + b + d, 4, axis=-1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _gru_step(x, h, c, w, u, b, d, hidden):
    xr, xz, xn = np.split(x @ w.T + b, 3, axis=-1)
    hr, hz, hn = np.split(h @ u.T + d, 3, axis=-1)
    z = _sigmoid(xz + hz)
    return (1 - z) * np.tanh(xn + _sigmoid(xr + hr) * hn) + z * h, c


def _rnn_step(activation):
    return lambda x, h, c, w, u, b, d, hidden: (activation(x @ w.T + h @ u.T + b + d), c)


STEPS = {
    "lstm": _lstm_step,
    "gru": _gru_step,
    "rnn_tanh": _rnn_step(np.tanh),
    "rnn_relu": _rnn_step(lambda v: np.maximum(v, 0)),
}


def _run(kind, x, h, c, given, bias):
    """One layer and direction over (T, N, C)."""
    w, u, *rest = given
    zeros = np.zeros(w.shape[0])
    b, d = rest[:2] if bias else (zeros, zeros)
    projection = rest[-1] if len(rest) == (3 if bias else 1) else None
    outputs = []
    for row in x:
        h, c = STEPS[kind](row, h, c, w, u, b, d, None)
        h = h if projection is None else h @ projection.T
        outputs.append(h)
    return np.stack(outputs), h, c


def _network(kind, x, hx, params, num_layers, n_directions, bias):
    each = len(params) // (num_layers * n_directions)
    h_0, c_0 = hx if kind == "lstm" else (hx, None)
    h_n, c_n = [], []
    for layer in range(num_layers):
        sides = []
        for side in range(n_directions):
            k = layer * n_directions + side
            given = params[k * each : (k + 1) * each]
            shape = (x.shape[1], given[1].shape[1]), (x.shape[1], given[0].shape[0] // GATES[kind])
            h = np.zeros(shape[0]) if h_0 is None else h_0[k]
            c = np.zeros(shape[1]) if c_0 is None else c_0[k]
            made, h, c = _run(kind, x[::-1] if side else x, h, c, given, bias)
            sides.append(made[::-1] if side else made)
            h_n.append(h)
            c_n.append(c)
        x = np.concatenate(sides, axis=-1)
    return x, np.stack(h_n), np.stack(c_n)


def reference(kind):
    def run(x, hx, params, *, num_layers=1, bidirectional=False, batch_first=False, bias=True):
        alone, swap = x.ndim == 2, batch_first and x.ndim == 3
        hx = (None, None) if hx is None and kind == "lstm" else hx
        x = x[:, None] if alone else x.swapaxes(0, 1) if swap else x
        if alone and kind == "lstm":
            hx = tuple(None if s is None else s[:, None] for s in hx)
        elif alone and hx is not None:
            hx = hx[:, None]
        y, h, c = _network(kind, x, hx, params, num_layers, 1 + bidirectional, bias)
        if alone:
            y, h, c = y[:, 0], h[:, 0], c[:, 0]
        y = y.swapaxes(0, 1) if swap else y
        return (y, (h, c)) if kind == "lstm" else (y, h)

    return run


def by_torch(kind):
    def run(x, hx, params, *, num_layers=1, bidirectional=False, batch_first=False, bias=True):
        import torch

        alone = x.dim() == 2
        x = x[:, None] if alone else x
        batch_first = batch_first and not alone
        n_cells = num_layers * (1 + bidirectional)
        n = x.shape[0 if batch_first else 1]
        zeros = [x.new_zeros(n_cells, n, s) for s in (params[1].shape[1], len(params[0]) // 4)]
        if kind == "lstm":
            hx = list(zeros) if hx is None else [s[:, None] if alone else s for s in hx]
        else:
            hx = zeros[0] if hx is None else hx[:, None] if alone else hx
        options = (bias, num_layers, 0.0, False, bidirectional, batch_first)
        y, *last = getattr(torch._VF, kind)(x, hx, list(params), *options)
        if alone:
            y, last = y[:, 0], [s[:, 0] for s in last]
        return (y, tuple(last)) if kind == "lstm" else (y, last[0])

    return run
