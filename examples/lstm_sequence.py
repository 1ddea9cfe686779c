# SPDX-License-Identifier: Apache-2.0
"""Packed sequences of different lengths: an LSTM adds up the marked numbers."""

from __future__ import annotations

import dpnp
import numpy as np
from _training import begin, check, finish, own_rows, train

from sycl_dnn import functional as F
from sycl_dnn import nn, optim

#: Lengths of the sequences in each batch: one program is compiled for them, once.
LENGTHS = np.repeat(np.arange(20, 4, -1), 4)


class Adder(nn.Module):
    """Maps sequences (N, T, 2) of numbers and marks to sums (N,)."""

    def __init__(self, width=64):
        super().__init__()
        self.lstm = nn.LSTM(2, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        """Return the sums; padding is neither read nor computed."""
        packed = F.pack_padded_sequence(x, own_rows(LENGTHS), batch_first=True)
        _, (last, _) = self.lstm(packed)
        return self.head(last[-1])[:, 0]


def loss(net, x, sums):
    """Return the mean squared error."""
    return F.mse_loss(net(x), sums)


def batch(rng, queue):
    """Return numbers with two marks per sequence, garbage after its end, and the sums."""
    x = np.stack([rng.uniform(-1, 1, (len(LENGTHS), LENGTHS[0])), np.zeros((64, 20))], 2)
    sums = np.zeros(len(LENGTHS))
    for i, n in enumerate(LENGTHS):
        marked = rng.choice(n, 2, replace=False)
        x[i, marked, 1] = 1
        sums[i] = x[i, marked, 0].sum()
        x[i, n:] = 1e6
    return tuple(dpnp.asarray(own_rows(a), dtype="f4", sycl_queue=queue) for a in (x, sums))


def main() -> None:
    """Train; fail if sums are no better than a guess."""
    options, queue = begin(__doc__, steps=600, rate=5e-3)
    rng = np.random.default_rng(options.seed)
    batches = (batch(rng, queue) for _ in iter(int, 1))
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    net, _, losses = train(Adder().to(queue), opt, loss, batches, options)
    x, sums = batch(np.random.default_rng(1), queue)
    error, guess = float(loss(net.eval(), x, sums)), float(F.mean(F.square(sums)))
    print(f"squared error {losses[0]:.3f} to {error:.4f}; of a guess {guess:.3f}")
    part = 0.1 if options.steps >= 600 else 1.2
    check(options, f"the error must be below {part} of a guess's", error < part * guess)
    finish(options, "lstm_sequence", losses)


if __name__ == "__main__":
    main()
