# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks as torch computes them."""

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


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
